// Draws a suspect as a row of the list or a card of the grid.
import { label, make, percent, strip } from "./dom.js";
import { NO_CLASS } from "./model.js";
import { briefly } from "./table_view.js";
import { describeDecision, describeSuspect, image } from "./suspect_view.js";

const MARKS = { open: "", keep: "✓", relabel: "↦", remove: "×", unsure: "?" };
const FETCH_DELAY = 60; // milliseconds: nothing is fetched for a row that is only scrolled past

export class SuspectCells {
  constructor(model, backend, details) { Object.assign(this, { model, backend, details }); }

  row(element, item) {
    const { model } = this, state = model.stateOf(item);
    element.className = `row ${state}`;
    element.setAttribute("aria-selected", String(item === model.current));
    element.setAttribute("aria-label", this.#description(item));
    element.replaceChildren(
      this.#thumbnail(element, item),
      make("span", { class: "labels" }, label(model.name(model.given[item]), "name given"), this.#suggestion(item)),
      make("span", { class: "soft" }, percent(model.wrong[item])),
      make("span", { class: "mark" }, MARKS[state]),
    );
  }

  card(element, item, selected, active) {
    const { model } = this, state = model.stateOf(item);
    element.className = `card ${state}${active ? " active" : ""}`;
    element.setAttribute("aria-selected", String(selected));
    element.setAttribute("aria-label", this.#description(item));
    element.replaceChildren(make("div", { class: "inside" },
      this.#thumbnail(element, item, true),
      make("span", { class: "labels" }, label(model.name(model.given[item]), "name given"), make("span", { class: "arrow" }, "→"), this.#suggestion(item)),
      make("span", { class: "foot soft" }, make("span", {}, percent(model.wrong[item])), make("span", { class: "mark" }, MARKS[state])),
      make("span", { class: "tick", "aria-hidden": "true" }, selected ? "✓" : "")));
  }

  #suggestion(item) {
    const { model } = this;
    const code = model.stateOf(item) === "relabel" ? model.label[item] : model.suggested[item];
    if (code === NO_CLASS) return make("span", { class: "name proposed" }, "remove");
    return label(code >= 0 ? model.name(code) : model.flagged[item] ? "?" : "not flagged", code >= 0 || model.flagged[item] ? "name proposed" : "soft");
  }

  #description(item) {
    const decision = describeDecision(this.model, item);
    return `${describeSuspect(this.model, item)}${decision ? `, ${decision}` : ""}, id ${this.model.id(item)}`;
  }

  #thumbnail(element, item, large = false) {
    const { model, backend } = this, { run } = model;
    const frame = make("span", { class: "thumb", "aria-hidden": "true" });
    const later = (work) => setTimeout(() => { if (frame.isConnected) work(); }, FETCH_DELAY);
    if (run.images) {
      const insert = () => frame.replaceChildren(image(backend.smallImage(model.row[item]), "", run.coarse));
      if (element.dataset.loaded === String(item)) insert(); else later(() => { element.dataset.loaded = item; insert(); });
    } else {
      const fill = (details) => {
        if (details.text !== undefined) frame.replaceChildren(make("span", { class: "text" }, details.text.slice(0, large ? 220 : 60)));
        else if (large && details.brief) frame.replaceChildren(make("span", { class: "text" }, briefly(run, details.brief)));
        else if (details.strip) frame.replaceChildren(strip(details.strip));
      };
      const cached = this.details.peek(item);
      if (cached) fill(cached); else later(() => this.details.get(item).then(fill).catch(() => {}));
    }
    return frame;
  }
}
