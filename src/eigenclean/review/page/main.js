// Builds the page from its parts and connects them.
import { Chooser } from "./chooser.js";
import { setUpColumnFilter } from "./column_filter.js";
import { DecisionQueue } from "./decision_queue.js";
import { DetailsCache } from "./details_cache.js";
import { byId, count, download, label, make, plural, remember, remembered } from "./dom.js";
import { drawEstimate } from "./estimate_panel.js";
import { setUpFilters } from "./filters.js";
import { Grid } from "./grid.js";
import { setUpJudgingAgain } from "./judge_again.js";
import { setUpKeys } from "./keys.js";
import { LocalBackend } from "./local_backend.js";
import { setUpMap } from "./map_panel.js";
import { Model, NO_CLASS } from "./model.js";
import { NoteDialog } from "./note_dialog.js";
import { ServerBackend } from "./server_backend.js";
import { SuspectCells } from "./suspect_cells.js";
import { SuspectView, describeDecision, describeSuspect, noteOf } from "./suspect_view.js";
import { setUpTheme } from "./theme.js";
import { VirtualList } from "./virtual_list.js";

const ORDERS = { worst: "worst first", informative: "most doubtful first", random: "at random", mixed: "worst, doubtful and random ones" };
const VIEWS = ["single", "grid", "map"];

// For screen readers.
const announce = (sentence) => { byId("live").textContent = sentence; };
// Something to read that stays until it is closed.
const notify = (...paragraphs) => {
  byId("notice-text").replaceChildren(...paragraphs);
  byId("notice").hidden = false;
};
// Where the patch went, and what to type next.
const showExport = ({ path, decisions, next }) => {
  const copy = "Your browser has downloaded patch.jsonl";
  notify(
    make("p", {}, ...(path ? [`${decisions}, written to `, make("code", {}, path), `. ${copy}, too.`] : [`${copy}: look in its folder of downloads.`])),
    make("p", {}, "To see what would change, and to apply it, type:"),
    make("pre", { tabindex: "0" }, make("code", {}, next.join("\n"))));
};
byId("notice-close").addEventListener("click", () => { byId("notice").hidden = true; byId("export").focus(); });
// The banner; null hides it.
const warn = (sentence) => {
  const banner = byId("banner");
  if ((sentence ?? "") !== banner.textContent) banner.textContent = sentence ?? "";
  banner.hidden = sentence === null;
};

setUpTheme();
const embedded = byId("data");
const backend = embedded ? new LocalBackend(JSON.parse(embedded.textContent)) : new ServerBackend();
open();

async function open() {
  let opened;
  while (opened === undefined) {
    try {
      opened = await backend.open(showProgress);
    } catch (error) {
      warn(`The run cannot be opened: ${error.message}.`);
      await new Promise((resolve) => { setTimeout(resolve, 1500); });
    }
  }
  start(opened);
}

function showProgress(share) {
  byId("loading").textContent = `Opening the run … ${Math.round(100 * share)} %`;
}

function start(opened) {
  warn(null);
  const model = new Model(opened), { run } = model;
  const details = new DetailsCache(backend), cells = new SuspectCells(model, backend, details);
  const suspectView = new SuspectView(model, backend, details), chooser = new Chooser(model), noteDialog = new NoteDialog();
  let view = "single"; // or "grid", or "map"

  byId("loading").remove();
  byId("run-name").textContent = run.name;
  document.title = `Review ${run.name} · eigenclean`;
  const notes = [...run.notes];
  const nFlagged = model.flagged.reduce((n, flag) => n + flag, 0);
  if (nFlagged < run.n_flagged) notes.push(`This page holds ${run.order === "worst" ? "the worst " : ""}${count(nFlagged)} of ${count(run.n_flagged)} suspects.`);
  if (nFlagged < model.n) notes.push(`${plural(model.n - nFlagged, "label")} in the list ${model.n - nFlagged === 1 ? "is" : "are"} not flagged: decisions about them teach the judge most when it judges again.`);
  for (const id of ["list", "cells"]) byId(id).setAttribute("aria-label", `Suspects, ${ORDERS[run.order] ?? "worst first"}`);
  if (embedded) notes.push("Decisions are kept in this browser alone until you export them.");
  byId("notes").textContent = notes.join(" ");
  byId("reviewer").value = remembered("reviewer", run.reviewer ?? "");
  byId("reviewer").addEventListener("change", () => remember("reviewer", byId("reviewer").value.trim()));
  const reviewer = () => byId("reviewer").value.trim() || run.reviewer || "reviewer";
  const queue = new DecisionQueue(model, backend, { reviewer, announce, warn });

  const list = new VirtualList(byId("list"), {
    order: () => model.order, prefix: "row", size: () => ({ width: 0, height: 56 }), fill: (element, item) => cells.row(element, item),
  });
  const grid = new Grid(model, cells, () => drawActions());
  setUpFilters(model);
  setUpColumnFilter(model, backend, warn);
  const mapPanel = setUpMap(model, backend, { warn, open: (item) => { model.go(item); show("single"); } });
  setUpKeys(act);
  setUpJudgingAgain(run, backend, queue, { announce, notify });

  byId("list").addEventListener("click", (event) => {
    const item = list.itemAt(event);
    if (item === null) return;
    model.go(item);
    showRail(false);
  });
  byId("list").addEventListener("keydown", (event) => {
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -model.n, End: model.n };
    if (!(event.key in steps) || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    model.go(model.step(steps[event.key]));
  });
  byId("actions").addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (button) act(button.dataset.act);
  });
  for (const name of VIEWS) byId(`view-${name}`).addEventListener("click", () => show(name));
  byId("show-list").addEventListener("click", () => showRail(!document.body.classList.contains("rail")));
  byId("help").addEventListener("click", () => act("help"));
  byId("export").addEventListener("click", async () => {
    try {
      const exported = await backend.export();
      download("patch.jsonl", await backend.patch());
      showExport(exported);
      warn(null);
    } catch (error) { warn(`No patch: ${error.message}.`); }
  });
  model.addEventListener("moved", () => draw(true));
  model.addEventListener("filtered", () => { draw(true); announce(`${plural(model.order.length, "suspect")} shown.`); });
  model.addEventListener("decided", () => draw());
  backend.watch(() => queue.poll());

  const actions = {
    keep: () => decide((item) => ({ item, state: "keep" })),
    accept: () => decide((item) => (model.suggested[item] === NO_CLASS ? { item, state: "remove" }
      : model.suggested[item] < 0 ? null : { item, state: "relabel", label: model.suggested[item] })),
    unsure: () => decide((item) => ({ item, state: "unsure" })),
    remove: () => decide((item) => ({ item, state: "remove" })),
    other: async () => {
      const items = targets();
      if (!items.length) return;
      const cached = items.length === 1 ? details.peek(items[0]) : null;
      const excluded = items.length === 1 ? model.given[items[0]] : -1;
      const chosen = await chooser.ask(excluded, cached?.align.length ? cached.align.map(([code]) => code) : [model.suggested[items[0]]]);
      if (chosen !== null) decide((item) => (model.given[item] === chosen ? null : { item, state: "relabel", label: chosen }), items);
    },
    note: async () => {
      const items = targets();
      if (!items.length) return;
      if (items.length === 1) await details.get(items[0]).catch(() => {});
      const note = await noteDialog.ask(items.length === 1 ? noteOf(model, details, items[0]) : "");
      if (note === null) return;
      const unchanged = (item) => ({ item, state: model.stateOf(item), ...(model.label[item] >= 0 ? { label: model.label[item] } : {}), note });
      queue.decide(() => items.map(unchanged), (entries, conflicts) => {
        draw();
        announce(`${entries.length ? "Note saved." : "No note was saved."}${conflictNote(conflicts)}`);
      });
    },
    undo: () => queue.undo((entries, conflicts, n) => {
      if (!entries.length) { announce("There is nothing to undo."); return; }
      model.go(entries[0].item);
      announce(`Undone${n > 1 ? ` ${plural(n, "decision")}` : ""}. ${describe(entries[0].item)}${conflictNote(conflicts)}`);
    }),
    next: () => { model.go(model.step(1)); announceCurrent(); },
    previous: () => { model.go(model.step(-1)); announceCurrent(); },
    view: () => show(view === "grid" ? "single" : "grid"),
    map: () => { if (mapPanel.exists) show(view === "map" ? "single" : "map"); },
    filter: () => { showRail(true); byId("filter-pair").focus(); },
    help: () => byId("help-dialog").showModal(),
  };

  function act(name) { actions[name]?.(); }
  function targets() { // nobody decides about a dot
    return view === "grid" ? grid.targets() : view === "single" && model.current >= 0 ? [model.current] : [];
  }

  // change(item) returns a decision or null; items are the targets at the time of saving unless they are given.
  function decide(change, items) {
    queue.decide(() => (items ?? targets()).map(change).filter(Boolean), (entries, conflicts) => {
      if (view === "grid" && grid.selected.size) grid.selected.clear();
      if (!entries.length) { announce(`Nothing was changed.${conflictNote(conflicts)}`); draw(); return; }
      const item = entries[entries.length - 1].item;
      const what = entries.length > 1 ? `${plural(entries.length, "suspect")} ${describeDecision(model, item).split(" ")[0]}` : describeDecision(model, item);
      const next = model.nextOpen(item);
      if (next !== null) model.go(next);
      draw();
      announce(`Saved: ${what}.${conflictNote(conflicts)} ${next === null ? "All are judged." : describe(next)}`);
    });
  }

  const conflictNote = (conflicts) => (conflicts.length ? ` ${plural(conflicts.length, "suspect was", "suspects were")} judged by someone else meanwhile; look again.` : "");
  const describe = (item) => {
    const decision = describeDecision(model, item);
    return `Suspect ${model.place(item) + 1} of ${model.order.length}: ${describeSuspect(model, item)}${decision ? `, ${decision}` : ""}.`;
  };
  const announceCurrent = () => { if (model.current >= 0) announce(describe(model.current)); };

  function show(wanted) {
    view = wanted;
    for (const name of VIEWS) byId(`view-${name}`).setAttribute("aria-pressed", String(name === view));
    draw(true);
    paint();
    if (view === "map") mapPanel.show(); else byId(view === "grid" ? "cells" : "stage").focus({ preventScroll: true });
  }

  function showRail(open) {
    document.body.classList.toggle("rail", open);
    byId("show-list").setAttribute("aria-expanded", String(open));
    if (open) draw(true);
  }

  // A decision may change the model several times; the page is drawn once, in the next microtask.
  let scheduled = false, revealing = false;
  function draw(reveal = false) {
    revealing ||= reveal;
    if (scheduled) return;
    scheduled = true;
    queueMicrotask(() => { if (scheduled) paint(); });
  }

  function paint() {
    scheduled = false;
    byId("grid").hidden = view !== "grid" || !model.order.length;
    byId("map").hidden = view !== "map";
    byId("empty").hidden = view === "map" || model.order.length > 0;
    byId("empty").textContent = model.n ? "No suspect matches." : "There are no suspects: no label looks wrong.";
    list.draw(true);
    byId("list").setAttribute("aria-activedescendant", model.current >= 0 ? `row-${model.current}` : "");
    if (view === "single") suspectView.draw(); else byId("suspect").hidden = true;
    if (view === "grid" && model.order.length) grid.draw();
    byId("shown").textContent = model.order.length === model.n ? plural(model.n, "suspect") : `${count(model.order.length)} of ${plural(model.n, "suspect")}`;
    const progress = byId("progress");
    progress.setAttribute("aria-valuenow", model.judged);
    progress.setAttribute("aria-valuemax", model.n);
    progress.firstElementChild.style.width = `${model.n ? (100 * model.judged) / model.n : 0}%`;
    byId("progress-text").textContent = `${count(model.judged)} of ${count(model.n)} judged`;
    drawActions();
    drawEstimateSoon();
    if (revealing) {
      list.reveal(model.place(model.current));
      if (view === "grid") grid.reveal();
    }
    revealing = false;
  }

  function drawActions() {
    const bar = byId("actions");
    const items = targets();
    bar.hidden = model.n === 0 || view === "map";
    for (const button of bar.querySelectorAll("[data-act]")) {
      const name = button.dataset.act;
      const needsTarget = !["undo", "next", "previous"].includes(name);
      button.disabled = (needsTarget && !items.length) || (name === "accept" && items.every((item) => model.suggested[item] === -1));
      if (name === "keep") showEffect(button, "Keep", items, model.given);
      if (name === "accept") showEffect(button, "Accept", items, model.suggested);
    }
  }

  // Shows on a button what it would do: the label, or the number of suspects.
  function showEffect(button, verb, items, codes) {
    const code = items.length === 1 ? codes[items[0]] : -1;
    const what = items.length > 1 ? [` all ${count(items.length)}`] : code >= 0 ? [" ", label(model.name(code))] : code === NO_CLASS ? [": remove"] : [];
    button.firstElementChild.replaceChildren(verb, ...what);
  }

  let estimatePlanned = false;
  function drawEstimateSoon() {
    if (estimatePlanned) return;
    estimatePlanned = true;
    setTimeout(() => { estimatePlanned = false; drawEstimate(model); }, 30);
  }

  draw();
  byId("stage").focus({ preventScroll: true });
}
