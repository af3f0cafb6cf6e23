// The values of a suspect by column, those that speak against its label marked, beside typical rows of both classes.
import { count, label, make, plural } from "./dom.js";

const SEARCH_FROM = 16; // columns from which the pane offers a search

export const columnName = (column) => (column.name.trim() === "" ? "(no name)" : column.name);

// A few values in one line, for places with little room.
export function briefly(run, brief) {
  return brief.map(([number, value]) => `${columnName(run.table.columns[number])} ${value ?? "—"}`).join(" · ");
}

export class TableView {
  constructor(model) {
    this.model = model;
    this.searched = "";
  }

  element(item, details) {
    const { model } = this, { table } = model.run;
    const effects = new Map(details.against), named = details.against.map(([number]) => number);
    const rest = table.columns.map((_, number) => number).filter((number) => !effects.has(number));
    const others = [...rest.filter((number) => table.columns[number].used), ...rest.filter((number) => !table.columns[number].used)];
    const compared = [[model.given[item], "given"], [model.suggested[item], "proposed"]]
      .filter(([code]) => code >= 0 && table.typical[code])
      .map(([code, kind]) => ({ code, kind, values: table.typical[code].values, id: table.typical[code].id }));
    const body = make("tbody", {}, ...[...named, ...others].map((number) => this.#row(number, details, effects, compared)));
    const head = make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "Column"), make("th", { scope: "col" }, "This row"),
      ...compared.map(({ code, kind, id }) => make("th", { scope: "col", class: kind, title: `id ${id}` }, "typical ", label(model.name(code))))));
    const hidden = table.n_hidden ? ` ${plural(table.n_hidden, "more column is", "more columns are")} not shown.` : "";
    return make("div", { class: "values" },
      table.columns.length >= SEARCH_FROM ? this.#search(body) : null,
      make("div", { class: "scrolled", tabindex: "0", role: "region", "aria-label": "Values by column" }, make("table", {}, head, body)),
      make("p", { class: "soft note" }, ...this.#note(item, named.length), hidden));
  }

  #row(number, details, effects, compared) {
    const column = this.model.run.table.columns[number], effect = effects.get(number);
    const cell = (value, kind) => make("td", { class: kind }, value === null ? make("span", { class: "soft" }, "missing") : label(value, "value"));
    const own = cell(details.values[number], "own");
    if (effect !== undefined) {
      const bar = make("i", {});
      bar.style.width = `${Math.min(100, 100 * effect)}%`;
      own.replaceChildren(make("div", {}, ...own.childNodes, make("span", { class: "effect" }, make("span", { class: "track", "aria-hidden": "true" }, bar), `+${effect.toFixed(2)}`)));
    }
    const row = make("tr", { class: effect !== undefined ? "against" : column.used ? null : "unused" },
      make("th", { scope: "row" }, label(columnName(column)), column.used ? null : make("small", { class: "soft" }, ` ${column.role}`)),
      own, ...compared.map(({ kind, values }) => cell(values[number], kind)));
    row.hidden = !this.#matches(column);
    row.dataset.column = number;
    return row;
  }

  #note(item, n) {
    const { model } = this, name = label(model.name(model.given[item]));
    if (n === 0) return ["No single column speaks against ", name, "."];
    return ["Marked columns speak against ", name, ": with the values that trusted rows of it have there, its probability would rise by so much."];
  }

  #matches(column) { return columnName(column).toLowerCase().includes(this.searched); }

  #search(body) {
    const { columns } = this.model.run.table;
    const input = make("input", { type: "search", placeholder: `Find one of ${count(columns.length)} columns`, "aria-label": "Find a column", value: this.searched });
    input.addEventListener("input", () => {
      this.searched = input.value.trim().toLowerCase();
      for (const row of body.children) row.hidden = !this.#matches(columns[row.dataset.column]);
    });
    return input;
  }
}
