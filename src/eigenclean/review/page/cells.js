// How a suspect looks in the list and in the grid.
import { label, make, percent, strip } from "./dom.js";
import { decision, picture, sentence } from "./one.js";

const MARKS = { open: "", keep: "✓", relabel: "↦", remove: "×", unsure: "?" };
const PAUSE = 60; // milliseconds before something is fetched for a row that may only be passing by

export class Cells {
  constructor(model, backend, details) { Object.assign(this, { model, backend, details }); }

  row(element, item) {
    const { model } = this, state = model.stateOf(item);
    element.className = `row ${state}`;
    element.setAttribute("aria-selected", String(item === model.current));
    element.setAttribute("aria-label", this.#words(item));
    element.replaceChildren(
      this.#thumbnail(element, item),
      make("span", { class: "labels" }, label(model.name(model.given[item]), "name given"), this.#proposal(item)),
      make("span", { class: "soft" }, percent(model.wrong[item])),
      make("span", { class: "mark" }, MARKS[state]),
    );
  }

  card(element, item, selected, active) {
    const { model } = this, state = model.stateOf(item);
    element.className = `card ${state}${active ? " active" : ""}`;
    element.setAttribute("aria-selected", String(selected));
    element.setAttribute("aria-label", this.#words(item));
    element.replaceChildren(make("div", { class: "inside" },
      this.#thumbnail(element, item, true),
      make("span", { class: "labels" }, label(model.name(model.given[item]), "name given"), make("span", { class: "arrow" }, "→"), this.#proposal(item)),
      make("span", { class: "foot soft" }, make("span", {}, percent(model.wrong[item])), make("span", { class: "mark" }, MARKS[state])),
      make("span", { class: "tick", "aria-hidden": "true" }, selected ? "✓" : "")));
  }

  #proposal(item) {
    const { model } = this;
    const code = model.stateOf(item) === "relabel" ? model.label[item] : model.suggested[item];
    return label(code >= 0 ? model.name(code) : "?", "name proposed");
  }

  #words(item) {
    const said = decision(this.model, item);
    return `${sentence(this.model, item)}${said ? `, ${said}` : ""}, id ${this.model.id(item)}`;
  }

  #thumbnail(element, item, large = false) {
    const { model, backend } = this, { run } = model;
    const frame = make("span", { class: "thumb", "aria-hidden": "true" });
    const soon = (work) => setTimeout(() => { if (frame.isConnected) work(); }, PAUSE);
    if (run.pictures) {
      const put = () => frame.replaceChildren(picture(backend.small(run.row[item]), "", run.coarse));
      if (element.dataset.seen === String(item)) put(); else soon(() => { element.dataset.seen = item; put(); });
    } else {
      const fill = (known) => {
        if (known.text !== undefined) frame.replaceChildren(make("span", { class: "text" }, known.text.slice(0, large ? 220 : 60)));
        else if (known.strip) frame.replaceChildren(strip(known.strip));
      };
      const known = this.details.peek(item);
      if (known) fill(known); else soon(() => this.details.get(item).then(fill).catch(() => {}));
    }
    return frame;
  }
}
