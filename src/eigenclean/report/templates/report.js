"use strict";
import { SampleMap } from "./map_view.js";
import { count } from "./map_controls.js";
import { unpack } from "./map_points.js";

const $ = (id) => document.getElementById(id);
for (const part of document.querySelectorAll(".js")) part.hidden = false;

// Theme: the system's choice until someone presses the button.
const root = document.documentElement;
const system = matchMedia("(prefers-color-scheme: dark)");
const isDark = () => (root.dataset.theme || (system.matches ? "dark" : "light")) === "dark";
const nameTheme = () => { $("theme").querySelector("span").textContent = isDark() ? "Light" : "Dark"; };
$("theme").addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; nameTheme(); });
system.addEventListener("change", nameTheme);
nameTheme();

// Suspects: search and filter; folded until asked for. The map may have chosen some of them.
const list = $("list");
let chosen = null; // by place in the list, 1 for those inside a selection on the map
let update = () => {};
if (list) {
  const cards = [...list.querySelectorAll(".suspect")].map((card) => {
    const titles = [...card.querySelectorAll("[title]")].map((part) => part.title);
    return { card, words: [card.textContent, ...titles].join(" ").toLowerCase() };
  });
  let all = cards.length <= Number(list.dataset.open);
  update = () => {
    const wanted = $("search").value.trim().toLowerCase();
    const given = $("class").value;
    const matching = cards.filter(({ card, words }, place) =>
      words.includes(wanted) && (given === "" || card.dataset.given === given) && (chosen === null || chosen[place] === 1));
    const open = all || wanted || given || chosen ? matching.length : Number(list.dataset.open);
    const visible = new Set(matching.slice(0, open));
    for (const entry of cards) entry.card.hidden = !visible.has(entry);
    $("more").hidden = open >= matching.length;
    $("shown").textContent = visible.size ? `${visible.size} of ${cards.length} shown` : "no suspect matches";
    $("unselect").hidden = chosen === null;
  };
  $("search").addEventListener("input", update);
  $("class").addEventListener("change", update);
  $("more").addEventListener("click", () => { all = true; update(); });
  addEventListener("beforeprint", () => {
    all = true;
    update();
    for (const fold of document.querySelectorAll("details")) fold.open = true;
  });
  update();
}

// Map: what is selected on it is what the list shows.
const plane = $("plane");
if (plane) {
  try {
    setUpMap(plane, JSON.parse(plane.dataset.map));
  } catch (error) { // the data of a report may be damaged, or somebody else's
    plane.textContent = `There is no map: ${error.message}.`;
  }
}

function setUpMap(host, data) {
  const suggested = unpack(data.suggested, data.n_first), wrong = unpack(data.wrong, data.n_first);
  const name = (code) => `\u2068${data.labels[code] ?? "a class that is not named here"}\u2069`;
  const describe = (point) => {
    const given = map.points.given[point], lines = [name(given)];
    if (point < data.n_suspects) {
      if (suggested[point] !== given) lines[0] += ` → ${name(suggested[point])}`;
      lines.push(`${Math.min(99, Math.max(1, Math.round((100 * wrong[point]) / 255)))} % probably wrong`);
    }
    return point < data.ids.length ? [...lines, data.ids[point]] : lines;
  };
  const onSelect = (marks) => {
    chosen = marks === null ? null : marks.subarray(0, data.n_listed);
    update();
    if (marks === null) return "The list shows all suspects again.";
    const listed = chosen.reduce((n, mark) => n + mark, 0);
    const more = listed < map.points.count(marks).suspects ? ", because it has the worst alone; `eigenclean review` has all" : "";
    return `The list below shows ${count(listed)} of them${more}.`;
  };
  const onPick = (point) => { const marks = new Uint8Array(data.n_points); marks[point] = 1; map.select(marks); };
  const map = new SampleMap(host, data, { labels: data.labels, describe, onSelect, onPick, scrolls: true });
  $("unselect")?.addEventListener("click", () => { map.clear(); });
}

const copy = $("copy");
if (copy) copy.addEventListener("click", async () => {
  const text = $("command");
  try {
    await navigator.clipboard.writeText(text.textContent);
    copy.textContent = "Copied";
  } catch {  // no permission: leave it selected, one key away
    getSelection().selectAllChildren(text);
    copy.textContent = "Selected";
  }
  setTimeout(() => { copy.textContent = "Copy"; }, 2000);
});
