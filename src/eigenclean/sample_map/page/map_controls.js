// The elements of the map: buttons, legend, canvas, the hint at the pointer and the sentence about the selection.

export const MAX_COLOURS = 10; // more cannot be told apart
const FACTOR = 1.4; // by which a button enlarges
const MANUAL = "Arrow keys move the map, plus and minus zoom, 0 shows all of it, Enter selects what is in view, Escape clears the selection.";

export const count = (n) => n.toLocaleString("en").replaceAll(",", "\u202f");
export const plural = (n, singular) => `${count(n)} ${singular}${n === 1 ? "" : "s"}`;

export function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

// Puts the elements into the host of a map, and returns those that the map changes.
export function buildControls(map) {
  const { points, host, scrolls } = map;
  const button = (text, action, attributes = {}) => {
    const element = make("button", { type: "button", class: "quiet", ...attributes }, text);
    element.addEventListener("click", action);
    return element;
  };
  const buttons = {
    closer: button("+", () => map.zoomBy(FACTOR), { "aria-label": "Zoom in" }),
    farther: button("−", () => map.zoomBy(1 / FACTOR), { "aria-label": "Zoom out" }),
    all: button("Whole map", () => map.showAll()),
    lasso: button("Lasso", () => map.setLasso(!map.isLasso), { "aria-pressed": "false" }),
    view: button("Select view", () => map.selectView()),
    clear: button("Clear", () => map.clear(), { "aria-label": "Clear the selection", disabled: "" }),
  };
  const about = `Map of ${plural(points.n, "sample")} in two dimensions, ${plural(points.nSuspects, "suspect")} among them. ${MANUAL}`;
  const canvas = make("canvas", { tabindex: "0", role: "application", "aria-roledescription": "map", "aria-label": about });
  const overlay = make("canvas", { class: "map-overlay", "aria-hidden": "true" });
  const hint = make("p", { class: "map-hint", hidden: "" });
  const status = make("p", { class: "map-status", role: "status" });
  const probe = make("i", { class: "map-colour", hidden: "" });
  const pointer = `Drag to move, ${scrolls ? "click and scroll" : "scroll"} or pinch to zoom. To select, hold Shift or press Lasso, and draw around samples.`;
  host.classList.add("sample-map");
  host.replaceChildren(
    make("div", { class: "map-tools", role: "group", "aria-label": "Map" }, ...Object.values(buttons)), classChoice(map),
    make("div", { class: scrolls ? "map-frame scrolls" : "map-frame" }, canvas, overlay, hint), status,
    make("p", { class: "map-manual" }, `${pointer} `, make("span", { class: "map-keys" }, MANUAL)), probe);
  return { canvas, overlay, hint, status, probe, buttons };
}

// To see one class alone: a button for each colour, or a list when there are too many for colours.
function classChoice(map) {
  const { points, labels, nCodes } = map, title = "See one class alone";
  const codes = [...new Set(points.given)].sort((a, b) => a - b).filter((code) => code in labels);
  if (nCodes > MAX_COLOURS) {
    const options = codes.map((code) => make("option", { value: String(code) }, labels[code]));
    const select = make("select", { "aria-label": title }, make("option", { value: "-1" }, "All classes"), ...options);
    select.addEventListener("change", () => map.showAlone(Number(select.value)));
    return make("div", { class: "map-classes" }, select);
  }
  const bar = make("div", { class: "map-classes", role: "group", "aria-label": title });
  for (const code of codes) {
    const button = make("button", { type: "button", class: "quiet", "aria-pressed": "false" },
      make("i", { class: `map-colour c${code}` }), make("bdi", { class: "name", title: labels[code] }, labels[code]));
    button.addEventListener("click", () => {
      map.showAlone(map.alone === code ? -1 : code);
      for (const other of bar.children) other.setAttribute("aria-pressed", String(other === button && map.alone === code));
    });
    bar.append(button);
  }
  return bar;
}
