// The dialog for another label, with search.
import { byId, label, make } from "./dom.js";
import { newLabel } from "./new_label.js";

const MAX_OPTIONS = 60, NEW = -1; // the option that is no label yet

export class Chooser {
  constructor(model) {
    this.model = model;
    this.dialog = byId("chooser");
    this.input = byId("chooser-input");
    this.list = byId("chooser-list");
    this.input.addEventListener("input", () => this.#updateOptions());
    this.input.addEventListener("keydown", (event) => this.#key(event));
    this.list.addEventListener("click", (event) => {
      const option = event.target.closest("[role=option]");
      if (option) this.#choose(Number(option.dataset.code));
    });
    this.dialog.addEventListener("click", (event) => { if (event.target === this.dialog) this.dialog.close(); });
    this.dialog.addEventListener("close", () => { // the event is asynchronous: the dialog may be open again
      if (!this.dialog.open) { this.chosen?.(null); this.chosen = null; }
    });
  }

  // Resolves to a class code, to the text of a new label, or to null. `excluded` is not offered; `likely` come first while nothing is typed.
  ask(excluded, likely) {
    this.chosen?.(null);
    this.excluded = excluded;
    this.likely = likely;
    this.input.value = "";
    this.dialog.showModal();
    this.#updateOptions();
    return new Promise((resolve) => { this.chosen = resolve; });
  }

  #updateOptions() {
    const searched = this.input.value.trim().toLowerCase();
    const names = this.model.run.labels.text;
    const rank = (code) => {
      const name = names[code].toLowerCase();
      if (!searched) return this.likely.indexOf(code) >= 0 ? this.likely.indexOf(code) : 1000 + code;
      if (name === searched) return 0;
      return name.startsWith(searched) ? 1 : name.includes(searched) ? 2 : -1;
    };
    this.options = names.map((_, code) => ({ code, rank: code === this.excluded ? -1 : rank(code) }))
      .filter(({ rank: r }) => r >= 0).sort((a, b) => a.rank - b.rank || a.code - b.code).slice(0, MAX_OPTIONS).map(({ code }) => code);
    this.typed = newLabel(this.model.run, this.input.value);
    if (this.typed !== null && !names.includes(this.typed)) this.options.push(NEW);
    this.at = 0;
    this.#draw();
  }

  #draw() {
    this.list.replaceChildren(...(this.options.length
      ? this.options.map((code, at) => make("li", { role: "option", id: `choice-${at}`, "data-code": code, "aria-selected": String(at === this.at) },
        ...(code === NEW ? [make("span", { class: "soft" }, "New label"), label(this.typed)] : [label(this.model.name(code))])))
      : [make("li", { class: "soft" }, "There is no such label.")]));
    const active = this.list.children[this.at];
    if (this.options.length) this.input.setAttribute("aria-activedescendant", `choice-${this.at}`);
    else this.input.removeAttribute("aria-activedescendant");
    active?.scrollIntoView({ block: "nearest" });
  }

  #key(event) {
    const n = this.options.length;
    if (event.key === "ArrowDown" && n) this.at = (this.at + 1) % n;
    else if (event.key === "ArrowUp" && n) this.at = (this.at + n - 1) % n;
    else if (event.key === "Enter") { event.preventDefault(); if (n) this.#choose(this.options[this.at]); return; }
    else return;
    event.preventDefault();
    this.#draw();
  }

  #choose(code) {
    const { chosen } = this;
    this.chosen = null;
    this.dialog.close();
    chosen?.(code === NEW ? this.typed : code);
  }
}
