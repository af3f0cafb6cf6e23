"use strict";
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

// Suspects: search and filter; folded until asked for.
const list = $("list");
if (list) {
  const cards = [...list.querySelectorAll(".suspect")].map((card) => {
    const titles = [...card.querySelectorAll("[title]")].map((part) => part.title);
    return { card, words: [card.textContent, ...titles].join(" ").toLowerCase() };
  });
  let all = cards.length <= Number(list.dataset.open);
  const update = () => {
    const wanted = $("search").value.trim().toLowerCase();
    const given = $("class").value;
    const matching = cards.filter(({ card, words }) =>
      words.includes(wanted) && (given === "" || card.dataset.given === given));
    const open = all || wanted || given ? matching.length : Number(list.dataset.open);
    const visible = new Set(matching.slice(0, open));
    for (const entry of cards) entry.card.hidden = !visible.has(entry);
    $("more").hidden = open >= matching.length;
    $("shown").textContent = visible.size ? `${visible.size} of ${cards.length} shown` : "no suspect matches";
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

// Map: press a class to see it alone.
const colours = $("colours");
if (colours) {
  const dots = document.querySelectorAll(".scatter circle");
  colours.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    const alone = button.getAttribute("aria-pressed") !== "true";
    for (const other of colours.children) other.setAttribute("aria-pressed", String(alone && other === button));
    for (const dot of dots) dot.classList.toggle("dim", alone && !dot.classList.contains("c" + button.dataset.code));
  });
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
