// The view of a single suspect: the sample, its labels, its alignment with the classes, its nearest trusted samples.
import { byId, count, label, make, percent, plural, strip } from "./dom.js";
import { NO_CLASS } from "./model.js";
import { TableView, briefly } from "./table_view.js";

const STATE_NAMES = { open: "", keep: "kept", relabel: "relabelled", remove: "to be removed", unsure: "can’t tell" };

export function describeSuspect(model, item) {
  const suggestion = model.suggested[item] >= 0
    ? `suggested ${model.name(model.suggested[item])}, ${percent(model.confidence[item])}`
    : model.suggested[item] === NO_CLASS ? `to remove: none of the classes, ${percent(model.confidence[item])}`
      : model.flagged[item] ? "no suggestion" : "not flagged";
  return `given ${model.name(model.given[item])}, ${suggestion}`;
}

export function describeDecision(model, item) {
  const state = model.stateOf(item);
  return state === "relabel" ? `relabelled ${model.name(model.label[item])}` : STATE_NAMES[state];
}

// What people wrote about a suspect.
export const noteOf = (model, details, item) => (model.signatures.get(item) ?? details.peek(item)?.signed)?.note ?? "";

export class SuspectView {
  constructor(model, backend, details) {
    Object.assign(this, { model, backend, details, shown: -1, table: new TableView(model) });
  }

  draw() {
    const { model } = this, item = model.current;
    byId("suspect").hidden = item < 0;
    if (item < 0) { this.shown = -1; return; }
    this.#drawHeading(item);
    if (item === this.shown) return;
    this.shown = item;
    this.#drawSample(item, this.details.peek(item));
    this.details.get(item).then((details) => {
      if (this.shown !== item) return;
      this.#drawHeading(item); // who decided, when it was not seen to happen
      this.#drawSample(item, details);
    }).catch(() => {});
    this.#prefetch(item);
  }

  #drawHeading(item) {
    const { model } = this;
    const suggested = model.suggested[item];
    byId("change").replaceChildren(
      make("small", {}, "labelled"), label(model.name(model.given[item]), "name given"),
      ...(suggested >= 0
        ? [make("small", {}, "looks like"), label(model.name(suggested), "name proposed"),
          make("small", { class: "sure" }, percent(model.confidence[item]))]
        : suggested === NO_CLASS
          ? [make("small", {}, "belongs to"), make("span", { class: "name proposed" }, "none of the classes"),
            make("small", { class: "sure" }, percent(model.confidence[item]))]
          : [make("small", {}, model.flagged[item] ? "looks wrong, no suggestion" : "not flagged: is it right?")]),
    );
    const state = model.stateOf(item), signature = model.signatures.get(item) ?? this.details.peek(item)?.signed;
    const place = model.place(item);
    const position = place >= 0 ? `${count(place + 1)} of ${plural(model.order.length, "suspect")}` : "no longer in this list";
    byId("meta").replaceChildren(
      `${position} · P(wrong) ${percent(model.wrong[item])} · id `, label(model.id(item)),
      ...(state === "open" ? [] : [make("span", { class: `badge ${state}` }, describeDecision(model, item))]),
      ...(state === "open" || !signature ? []
        : [make("span", { class: "signed" }, " by ", label(signature.reviewer), ` ${signature.time.slice(0, 16).replace("T", " ")}`)]),
    );
    const note = noteOf(model, this.details, item);
    byId("note").hidden = !note;
    byId("note").textContent = note;
  }

  #drawSample(item, details) {
    const { model, backend } = this, { run } = model;
    const parts = [];
    if (run.images) parts.push(image(backend.largeImage(model.row[item]), `Suspect ${model.id(item)}`, run.coarse));
    if (run.texts) parts.push(make("p", { class: "text", tabindex: "0", "aria-label": "Text" }, details?.text ?? "…"));
    if (run.table && details?.values) parts.push(this.table.element(item, details));
    else if (details?.strip) parts.push(make("figure", { class: "features" }, strip(details.strip), make("figcaption", { class: "soft" }, "its features; it has neither image nor text")));
    if (!parts.length) parts.push(make("p", { class: "soft nothing" }, details && !details.strip ? run.notes[0] ?? "There is nothing to show." : "…"));
    byId("sample").replaceChildren(...parts);
    byId("sample").classList.toggle("both", Boolean(run.images && run.texts));
    byId("suspect").classList.toggle("tabular", Boolean(run.table));
    byId("alignment").replaceChildren(...this.#annotations(details), ...this.#alignment(item, details));
    byId("neighbours").replaceChildren(...this.#neighbours(item, details));
  }

  // Who said what, where several annotators gave labels.
  #annotations(details) {
    if (!details?.annotations?.length) return [];
    const rows = details.annotations.map(({ annotator, label: given, right }) => make("li", {},
      label(annotator, "name soft"), label(given), make("b", {}, right === null ? "" : percent(right))));
    return [make("h3", { id: "annotations-title" }, "Who said what, and P(right)"), make("ul", { class: "annotations", "aria-labelledby": "annotations-title" }, ...rows)];
  }

  #alignment(item, details) {
    if (!details?.align?.length) return [];
    const { model } = this;
    const [given, suggested] = [model.given[item], model.suggested[item]];
    const rows = details.align.map(([code, alignment]) => {
      const kind = code === given ? "given" : code === suggested ? "proposed" : "";
      const bar = make("i", {});
      bar.style.width = `${100 * alignment}%`;
      return make("li", { class: kind }, label(model.name(code)), make("span", { class: "track", "aria-hidden": "true" }, bar), make("b", {}, alignment.toFixed(2)));
    });
    const omitted = model.run.labels.text.length - rows.length;
    return [
      make("h3", {}, "Alignment with each class"),
      make("ul", {}, ...rows),
      ...(omitted > 0 ? [make("p", { class: "soft" }, `and ${plural(omitted, "class", "classes")} with a lower alignment`)] : []),
    ];
  }

  #neighbours(item, details) {
    if (!details || details.near.every((side) => side.length === 0)) return [];
    const { model } = this;
    const codes = [model.given[item], model.suggested[item]];
    return details.near.map((side, at) => {
      if (codes[at] < 0) return null;
      const kind = at === 0 ? "given" : "proposed";
      return make("section", { class: kind, "aria-label": `Nearest trusted ${model.name(codes[at])}` },
        make("h3", {}, "Nearest trusted ", label(model.name(codes[at]))),
        side.length
          ? make("ul", { class: model.run.images ? "images" : "rows" }, ...side.map((neighbour) => this.#neighbour(neighbour)))
          : make("p", { class: "soft" }, "There is none."));
    }).filter(Boolean);
  }

  #neighbour(neighbour) {
    const { run } = this.model;
    return make("li", { title: `id ${neighbour.id}` },
      run.images ? image(this.backend.smallImage(neighbour.row), `Sample ${neighbour.id}`, run.coarse) : null,
      run.texts && !run.images ? make("p", { class: "text" }, neighbour.text ?? "") : null,
      neighbour.brief?.length && !run.texts ? make("p", { class: "text" }, briefly(run, neighbour.brief)) : neighbour.strip ? strip(neighbour.strip) : null,
      make("span", { class: "soft" }, ...(run.images || run.texts ? [] : [label(neighbour.id), " "]), `cos ${neighbour.cosine.toFixed(2)}`));
  }

  #prefetch(item) {
    const { model, backend } = this;
    const next = model.nextOpen(item), after = next === null ? null : model.nextOpen(next);
    for (const upcoming of [next, after]) {
      if (upcoming === null) continue;
      this.details.get(upcoming).then((details) => {
        if (!model.run.images) return;
        new Image().src = backend.largeImage(model.row[upcoming]);
        for (const neighbour of details.near.flat()) new Image().src = backend.smallImage(neighbour.row);
      }).catch(() => {});
    }
  }
}

export function image(source, description, coarse) {
  return make("img", { src: source, alt: description, class: coarse ? "coarse" : null, decoding: "async", draggable: "false" });
}
