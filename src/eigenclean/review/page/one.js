// One suspect: what it is, what it was called, what it may be, and why.
import { byId, count, label, make, percent, plural, strip } from "./dom.js";

const SAID = { open: "", keep: "kept", relabel: "relabelled", remove: "to be removed", unsure: "can’t tell" };

export function sentence(model, item) {
  const suggestion = model.suggested[item] >= 0
    ? `suggested ${model.name(model.suggested[item])}, ${percent(model.run.confidence[item])}` : "no suggestion";
  return `given ${model.name(model.given[item])}, ${suggestion}`;
}

export function decision(model, item) {
  const state = model.stateOf(item);
  return state === "relabel" ? `relabelled ${model.name(model.label[item])}` : SAID[state];
}

export class One {
  constructor(model, backend, details) {
    Object.assign(this, { model, backend, details, shown: -1 });
  }

  draw() {
    const { model } = this, item = model.current;
    byId("one").hidden = item < 0;
    if (item < 0) { this.shown = -1; return; }
    this.#head(item);
    if (item === this.shown) return;
    this.shown = item;
    this.#show(item, this.details.peek(item));
    this.details.get(item).then((known) => { if (this.shown === item) this.#show(item, known); }).catch(() => {});
    this.#fetch_ahead(item);
  }

  #head(item) {
    const { model } = this;
    const suggested = model.suggested[item];
    byId("change").replaceChildren(
      make("small", {}, "labelled"), label(model.name(model.given[item]), "name given"),
      ...(suggested >= 0
        ? [make("small", {}, "looks like"), label(model.name(suggested), "name proposed"),
          make("small", { class: "sure" }, percent(model.run.confidence[item]))]
        : [make("small", {}, "looks wrong, no suggestion")]),
    );
    const state = model.stateOf(item), by = model.by.get(item);
    const place = model.place(item);
    const where = place >= 0 ? `${count(place + 1)} of ${plural(model.order.length, "suspect")}` : "no longer in this list";
    byId("meta").replaceChildren(
      `${where} · P(wrong) ${percent(model.wrong[item])} · id `, label(model.id(item)),
      ...(state === "open" ? [] : [make("span", { class: `badge ${state}` }, decision(model, item)),
        make("span", { class: "signed" }, " by ", label(by.reviewer), ` ${by.time.slice(0, 16).replace("T", " ")}`)]),
    );
  }

  #show(item, known) {
    const { model, backend } = this, { run } = model;
    const parts = [];
    if (run.pictures) parts.push(picture(backend.picture(run.row[item]), `Suspect ${model.id(item)}`, run.coarse));
    if (run.texts) parts.push(make("p", { class: "text", tabindex: "0", "aria-label": "Text" }, known?.text ?? "…"));
    if (known?.strip) parts.push(make("figure", { class: "features" }, strip(known.strip), make("figcaption", { class: "soft" }, "its features; nothing else is known of it")));
    if (!parts.length) parts.push(make("p", { class: "soft nothing" }, known && !known.strip ? run.notes[0] ?? "There is nothing to show." : "…"));
    byId("show").replaceChildren(...parts);
    byId("show").classList.toggle("both", Boolean(run.pictures && run.texts));
    byId("why").replaceChildren(...this.#alignment(item, known));
    byId("near").replaceChildren(...this.#neighbours(item, known));
  }

  #alignment(item, known) {
    if (!known?.align?.length) return [];
    const { model } = this;
    const [own, proposed] = [model.given[item], model.suggested[item]];
    const rows = known.align.map(([code, fit]) => {
      const kind = code === own ? "given" : code === proposed ? "proposed" : "";
      const bar = make("i", {});
      bar.style.width = `${100 * fit}%`;
      return make("li", { class: kind }, label(model.name(code)), make("span", { class: "track", "aria-hidden": "true" }, bar), make("b", {}, fit.toFixed(2)));
    });
    const more = model.run.labels.text.length - rows.length;
    return [
      make("h3", {}, "Alignment with each class"),
      make("ul", {}, ...rows),
      ...(more > 0 ? [make("p", { class: "soft" }, `and ${plural(more, "class", "classes")} that fit less`)] : []),
    ];
  }

  #neighbours(item, known) {
    if (!known || known.near.every((side) => side.length === 0)) return [];
    const { model } = this;
    const codes = [model.given[item], model.suggested[item]];
    return known.near.map((side, at) => {
      if (codes[at] < 0) return null;
      const kind = at === 0 ? "given" : "proposed";
      return make("section", { class: kind, "aria-label": `Nearest trusted ${model.name(codes[at])}` },
        make("h3", {}, "Nearest trusted ", label(model.name(codes[at]))),
        side.length
          ? make("ul", { class: model.run.pictures ? "pictures" : "rows" }, ...side.map((one) => this.#neighbour(one)))
          : make("p", { class: "soft" }, "There is none."));
    }).filter(Boolean);
  }

  #neighbour(one) {
    const { run } = this.model;
    return make("li", { title: `id ${one.id}` },
      run.pictures ? picture(this.backend.small(one.row), `Sample ${one.id}`, run.coarse) : null,
      run.texts && !run.pictures ? make("p", { class: "text" }, one.text ?? "") : null,
      one.strip ? strip(one.strip) : null,
      make("span", { class: "soft" }, ...(run.pictures || run.texts ? [] : [label(one.id), " "]), `cos ${one.cosine.toFixed(2)}`));
  }

  #fetch_ahead(item) {
    const { model, backend } = this;
    const next = model.nextOpen(item), after = next === null ? null : model.nextOpen(next);
    for (const ahead of [next, after]) {
      if (ahead === null) continue;
      this.details.get(ahead).then((known) => {
        if (!model.run.pictures) return;
        new Image().src = backend.picture(model.run.row[ahead]);
        for (const one of known.near.flat()) new Image().src = backend.small(one.row);
      }).catch(() => {});
    }
  }
}

export function picture(source, words, coarse) {
  return make("img", { src: source, alt: words, class: coarse ? "coarse" : null, decoding: "async", draggable: "false" });
}
