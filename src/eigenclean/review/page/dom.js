// Helpers that build elements and format numbers. Text is inserted as text, never as markup.

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

// Labels and ids are untrusted text of any script: isolated from the text direction around them, truncated by CSS.
export const label = (text, kind = "name") => make("bdi", { class: kind, title: text }, text.trim() === "" ? "(blank)" : text);

export const percent = (share, digits = 0) => {
    if (digits === 0 && share > 0.99) return ">99 %"; // never 0 % or 100 %: no estimate is certain
  if (digits === 0 && share < 0.01) return "<1 %";
  return `${(100 * share).toFixed(digits)} %`;
};

export const count = (n) => n.toLocaleString("en").replaceAll(",", "\u202f");

export const plural = (n, singular, many = `${singular}s`) => `${count(n)} ${n === 1 ? singular : many}`;

// A few features as bars, for samples that have neither image nor text.
export function strip(values) {
  const svgElement = (name) => document.createElementNS("http://www.w3.org/2000/svg", name);
  const svg = svgElement("svg"), path = svgElement("path");
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

// Settings in local storage, which a browser may refuse.
export function remembered(key, fallback = null) {
  try { return localStorage.getItem(`eigenclean ${key}`) ?? fallback; } catch { return fallback; }
}
export function remember(key, value) {
  try { localStorage.setItem(`eigenclean ${key}`, value); } catch { /* only a setting */ }
}
