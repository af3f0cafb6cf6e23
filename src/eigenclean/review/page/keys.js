// Keyboard shortcuts. Single letters can be turned off, because speech input may type them by accident.
import { byId, make, remember, remembered } from "./dom.js";

export const KEYS = [
  ["keep", ["k"], "K", "Keep: the label is right"],
  ["accept", ["a"], "A", "Accept the suggested label"],
  ["other", ["o"], "O", "Another label: type to search, or a new one"],
  ["unsure", ["t"], "T", "Can’t tell"],
  ["remove", ["r"], "R", "Remove: no label fits"],
  ["note", ["m"], "M", "Note about this sample"],
  ["undo", ["u"], "U or Ctrl Z", "Undo the last decision"],
  ["next", ["n", "ArrowRight"], "N or →", "Next suspect"],
  ["previous", ["p", "ArrowLeft"], "P or ←", "Previous suspect"],
  ["view", ["g"], "G", "Grid, or one by one"],
  ["map", ["l"], "L", "Map of all samples, with a lasso"],
  ["filter", ["f"], "F", "Filters"],
  ["help", ["?"], "?", "Keys and settings"],
];

export function setUpKeys(act) {
  const letters = byId("letters");
  letters.checked = remembered("letters", "on") === "on";
  letters.addEventListener("change", () => remember("letters", letters.checked ? "on" : "off"));
  byId("keys").replaceChildren(...KEYS.map(([, , shown, meaning]) => make("tr", {}, make("th", { scope: "row" }, make("kbd", {}, shown)), make("td", {}, meaning))),
    make("tr", {}, make("th", { scope: "row" }, make("kbd", {}, "Space")), make("td", {}, "In the grid: select. With Shift and a click: a range")));
  const actions = new Map(KEYS.flatMap(([name, keys]) => keys.map((key) => [key, name])));
  addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.altKey || document.querySelector("dialog[open]")) return;
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "z" && !event.shiftKey && !isTextInput(event.target)) {
      event.preventDefault();
      act("undo");
      return;
    }
    if (event.ctrlKey || event.metaKey || isTextInput(event.target)) return;
    const letter = event.key.length === 1;
    const name = actions.get(letter ? event.key.toLowerCase() : event.key);
    if (!name || (letter && !letters.checked)) return;
    event.preventDefault();
    if (event.repeat && name !== "next" && name !== "previous") return; // a key that is held down decides once
    act(name);
  });
}

const isTextInput = (target) => target instanceof Element && target.matches("input, select, textarea");
