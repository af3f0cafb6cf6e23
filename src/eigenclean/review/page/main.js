// Puts the page together.
import { Cells } from "./cells.js";
import { Chooser } from "./chooser.js";
import { Desk } from "./desk.js";
import { Details } from "./details.js";
import { byId, count, download, label, make, percent, plural, remember, remembered } from "./dom.js";
import { estimate } from "./estimate.js";
import { setUpFilters } from "./filters.js";
import { Grid } from "./grid.js";
import { setUpKeys } from "./keys.js";
import { LocalBackend } from "./local_backend.js";
import { Model } from "./model.js";
import { One, decision, sentence } from "./one.js";
import { ServerBackend } from "./server_backend.js";
import { Virtual } from "./virtual.js";

const say = (words) => { byId("live").textContent = words; };
const warn = (words) => {
  const banner = byId("banner");
  if ((words ?? "") !== banner.textContent) banner.textContent = words ?? "";
  banner.hidden = words === null;
};

setUpTheme();
const embedded = byId("data");
const backend = embedded ? new LocalBackend(JSON.parse(embedded.textContent)) : new ServerBackend();
open();

async function open() {
  for (;;) {
    try {
      start(await backend.open());
      return;
    } catch (error) {
      warn(`The run cannot be opened: ${error.message}.`);
      await new Promise((resolve) => { setTimeout(resolve, 1500); });
    }
  }
}

function start(opened) {
  warn(null);
  const model = new Model(opened), { run } = model;
  const details = new Details(backend), cells = new Cells(model, backend, details);
  const one = new One(model, backend, details), chooser = new Chooser(model);
  let inGrid = false;

  byId("loading").remove();
  byId("run-name").textContent = run.name;
  document.title = `Review ${run.name} · eigenclean`;
  const notes = [...run.notes];
  if (model.n < run.n_flagged) notes.push(`This page holds the worst ${count(model.n)} of ${count(run.n_flagged)} suspects.`);
  if (embedded) notes.push("Decisions are kept in this browser alone until you export them.");
  byId("notes").textContent = notes.join(" ");
  byId("reviewer").value = remembered("reviewer", run.reviewer ?? "");
  byId("reviewer").addEventListener("change", () => remember("reviewer", byId("reviewer").value.trim()));
  const reviewer = () => byId("reviewer").value.trim() || run.reviewer || "reviewer";
  const desk = new Desk(model, backend, { reviewer, say, warn });

  const list = new Virtual(byId("list"), {
    order: () => model.order, prefix: "row", size: () => ({ width: 0, height: 56 }), fill: (element, item) => cells.row(element, item),
  });
  const grid = new Grid(model, cells, () => drawActions());
  setUpFilters(model);
  setUpKeys(act);

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
  byId("view-one").addEventListener("click", () => show(false));
  byId("view-grid").addEventListener("click", () => show(true));
  byId("show-list").addEventListener("click", () => showRail(!document.body.classList.contains("rail")));
  byId("help").addEventListener("click", () => act("help"));
  byId("export").addEventListener("click", async () => {
    try {
      download("patch.jsonl", await backend.patch());
      say("The patch was downloaded.");
      warn(null);
    } catch (error) { warn(`No patch: ${error.message}.`); }
  });
  model.addEventListener("moved", () => draw(true));
  model.addEventListener("filtered", () => { draw(true); say(`${plural(model.order.length, "suspect")} shown.`); });
  model.addEventListener("decided", () => draw());
  backend.watch(() => desk.look());

  const acts = {
    keep: () => decide((item) => ({ item, state: "keep" })),
    accept: () => decide((item) => (model.suggested[item] < 0 ? null : { item, state: "relabel", label: model.suggested[item] })),
    unsure: () => decide((item) => ({ item, state: "unsure" })),
    remove: () => decide((item) => ({ item, state: "remove" })),
    other: async () => {
      const items = targets();
      if (!items.length) return;
      const known = items.length === 1 ? details.peek(items[0]) : null;
      const avoid = items.length === 1 ? model.given[items[0]] : -1;
      const right = await chooser.ask(avoid, known?.align.length ? known.align.map(([code]) => code) : [model.suggested[items[0]]]);
      if (right !== null) decide((item) => (model.given[item] === right ? null : { item, state: "relabel", label: right }), items);
    },
    undo: () => desk.undo((entries, conflicts) => {
      if (!entries.length) { say("There is nothing to undo."); return; }
      model.go(entries[0].item);
      say(`Undone${entries.length > 1 ? ` ${plural(entries.length, "decision")}` : ""}. ${told(entries[0].item)}${lost(conflicts)}`);
    }),
    next: () => { model.go(model.step(1)); told_move(); },
    previous: () => { model.go(model.step(-1)); told_move(); },
    view: () => show(!inGrid),
    filter: () => { showRail(true); byId("filter-pair").focus(); },
    help: () => byId("help-dialog").showModal(),
  };

  function act(name) { acts[name]?.(); }
  function targets() { return inGrid ? grid.targets() : model.current >= 0 ? [model.current] : []; }

  function decide(change, fixed) {
    desk.decide(() => (fixed ?? targets()).map(change).filter(Boolean), (entries, conflicts) => {
      if (inGrid && grid.selected.size) grid.selected.clear();
      if (!entries.length) { say(`Nothing was changed.${lost(conflicts)}`); draw(); return; }
      const item = entries[entries.length - 1].item;
      const what = entries.length > 1 ? `${plural(entries.length, "suspect")} ${decision(model, item).split(" ")[0]}` : decision(model, item);
      const next = model.nextOpen(item);
      if (next !== null) model.go(next);
      draw();
      say(`Saved: ${what}.${lost(conflicts)} ${next === null ? "All are judged." : told(next)}`);
    });
  }

  const lost = (conflicts) => (conflicts.length ? ` ${plural(conflicts.length, "suspect was", "suspects were")} judged by someone else meanwhile; look again.` : "");
  const told = (item) => `Suspect ${model.place(item) + 1} of ${model.order.length}: ${sentence(model, item)}${decision(model, item) ? `, ${decision(model, item)}` : ""}.`;
  const told_move = () => { if (model.current >= 0) say(told(model.current)); };

  function show(asGrid) {
    inGrid = asGrid;
    byId("view-one").setAttribute("aria-pressed", String(!asGrid));
    byId("view-grid").setAttribute("aria-pressed", String(asGrid));
    draw(true);
    paint();
    if (asGrid) byId("cells").focus({ preventScroll: true }); else byId("stage").focus({ preventScroll: true });
  }

  function showRail(open) {
    document.body.classList.toggle("rail", open);
    byId("show-list").setAttribute("aria-expanded", String(open));
    if (open) draw(true);
  }

  // One decision changes much; it is drawn once, before anything else happens.
  let drawing = false, revealing = false;
  function draw(reveal = false) {
    revealing ||= reveal;
    if (drawing) return;
    drawing = true;
    queueMicrotask(() => { if (drawing) paint(); });
  }

  function paint() {
    drawing = false;
    byId("grid").hidden = !inGrid || !model.order.length;
    byId("empty").hidden = model.order.length > 0;
    byId("empty").textContent = model.n ? "No suspect matches." : "There are no suspects: no label looks wrong.";
    list.draw(true);
    byId("list").setAttribute("aria-activedescendant", model.current >= 0 ? `row-${model.current}` : "");
    if (inGrid) { byId("one").hidden = true; if (model.order.length) grid.draw(); } else one.draw();
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
      if (inGrid) grid.reveal();
    }
    revealing = false;
  }

  function drawActions() {
    const bar = byId("actions");
    const items = targets();
    bar.hidden = model.n === 0;
    for (const button of bar.querySelectorAll("[data-act]")) {
      const name = button.dataset.act;
      const needs = !["undo", "next", "previous"].includes(name);
      button.disabled = (needs && !items.length) || (name === "accept" && items.every((item) => model.suggested[item] < 0));
      if (name === "keep") say_what(button, "Keep", items, model.given);
      if (name === "accept") say_what(button, "Accept", items, model.suggested);
    }
  }

  // The buttons say what they would do: the label, or how many.
  function say_what(button, verb, items, codes) {
    const code = items.length === 1 ? codes[items[0]] : -1;
    const what = items.length > 1 ? [` all ${count(items.length)}`] : code >= 0 ? [" ", label(model.name(code))] : [];
    button.firstElementChild.replaceChildren(verb, ...what);
  }

  let planned = false;
  function drawEstimateSoon() {
    if (planned) return;
    planned = true;
    setTimeout(() => { planned = false; drawEstimate(); }, 30);
  }

  function drawEstimate() {
    if (!model.n) { byId("estimate").hidden = true; return; }
    const { precision, noise, found, right } = estimate(model.wrong, model.verdicts(), run.rest);
    put("precision", precision, 1);
    put("noise", noise, Math.min(1, Math.max(0.05, 1.6 * noise[2])), 1);
    byId("basis").textContent = found + right
      ? `${count(found)} found wrong, ${count(right)} right; 90 % intervals`
      : "By the detector alone; 90 % intervals";
  }

  function put(id, [middle, low, high], scale, digits = 0) {
    const box = byId(id);
    const bound = (share) => (100 * share).toFixed(digits);
    box.replaceChildren(percent(middle, digits), make("small", { class: "soft" }, ` ${bound(low)} to ${bound(high)}`));
    box.title = `between ${percent(low, digits)} and ${percent(high, digits)}`;
    const [bar, tick] = box.nextElementSibling.children;
    bar.style.left = `${(100 * low) / scale}%`;
    bar.style.width = `${(100 * (high - low)) / scale}%`;
    tick.style.left = `${(100 * middle) / scale}%`;
    box.nextElementSibling.setAttribute("aria-label", box.title);
    box.nextElementSibling.setAttribute("role", "img");
  }

  draw();
  byId("stage").focus({ preventScroll: true });
}

function setUpTheme() {
  const root = document.documentElement, system = matchMedia("(prefers-color-scheme: dark)");
  const chosen = remembered("theme");
  if (chosen) root.dataset.theme = chosen;
  byId("theme").addEventListener("click", () => {
    const dark = (root.dataset.theme || (system.matches ? "dark" : "light")) === "dark";
    root.dataset.theme = dark ? "light" : "dark";
    remember("theme", root.dataset.theme);
  });
}
