// Small tools for building the page. Text goes in as text, never as markup.

export const byId = (id) => document.getElementById(id);

export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

// Labels and ids are strangers' words: kept apart from the direction of the text around them, and cut by the style.
export const label = (text, kind = "name") => make("bdi", { class: kind, title: text }, text.trim() === "" ? "(blank)" : text);

export const percent = (share, digits = 0) => {
  const shown = (100 * share).toFixed(digits);
  if (digits === 0 && share > 0.99) return ">99 %"; // no detector is certain, and no estimate
  if (digits === 0 && share < 0.01) return "<1 %";
  return `${shown} %`;
};

export const count = (n) => n.toLocaleString("en").replaceAll(",", "\u202f");

export const plural = (n, one, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`;

// A few features as bars: something to compare where there is neither picture nor text.
export function strip(values) {
  const drawing = (name) => document.createElementNS("http://www.w3.org/2000/svg", name);
  const svg = drawing("svg"), path = drawing("path");
  svg.setAttribute("class", "strip");
  svg.setAttribute("viewBox", `0 0 ${4 * values.length} 64`);
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("aria-hidden", "true");
  path.setAttribute("d", values.map((value, at) => `M${4 * at} 64v${-(2 + (62 * value) / 255).toFixed(1)}h3V64`).join(""));
  svg.append(path);
  return svg;
}

export function download(name, text) {
  const url = URL.createObjectURL(new Blob([text], { type: "application/jsonl" }));
  const link = make("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

// Settings that a browser remembers; one that refuses to is no reason to stop.
export function remembered(key, fallback = null) {
  try { return localStorage.getItem(`eigenclean ${key}`) ?? fallback; } catch { return fallback; }
}
export function remember(key, value) {
  try { localStorage.setItem(`eigenclean ${key}`, value); } catch { /* only a setting */ }
}
