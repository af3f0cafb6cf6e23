// The filter by the values of a column of the table: first the column, then a group of its values.
import { byId, count, make } from "./dom.js";
import { columnName } from "./table_view.js";

const short = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

export function setUpColumnFilter(model, backend, warn) {
  const { table } = model.run;
  const columns = byId("filter-column"), values = byId("filter-value");
  columns.closest("label").hidden = values.closest("label").hidden = !table;
  if (!table) return;
  let codes = null;
  columns.append(make("option", { value: "" }, "Any column"),
    ...table.columns.flatMap((column, number) => (column.used ? [make("option", { value: number }, short(columnName(column), 40))] : [])));
  values.disabled = true;
  values.append(make("option", { value: "" }, "Any value"));
  columns.addEventListener("change", async () => {
    const chosen = columns.value;
    values.replaceChildren(make("option", { value: "" }, "Any value"));
    values.disabled = true;
    codes = null;
    model.setFilter({ codes: null, code: -1 });
    if (chosen === "") return;
    let groups;
    try { groups = await backend.groups(chosen); } catch (error) { warn(`No values: ${error.message}.`); return; }
    if (columns.value !== chosen) return; // another one was chosen meanwhile
    codes = groups.codes;
    const sizes = new Array(groups.groups.length).fill(0);
    for (const code of codes) sizes[code] += 1;
    values.append(...groups.groups.map((text, code) => make("option", { value: code }, `${short(text, 40)} · ${count(sizes[code])}`)));
    values.disabled = false;
  });
  values.addEventListener("change", () => model.setFilter(values.value === "" ? { codes: null, code: -1 } : { codes, code: Number(values.value) }));
}
