// Light or dark: as the system says, until the button is used.
import { byId, remember, remembered } from "./dom.js";

export function setUpTheme() {
  const root = document.documentElement, system = matchMedia("(prefers-color-scheme: dark)");
  const chosen = remembered("theme");
  if (chosen) root.dataset.theme = chosen;
  byId("theme").addEventListener("click", () => {
    const dark = (root.dataset.theme || (system.matches ? "dark" : "light")) === "dark";
    root.dataset.theme = dark ? "light" : "dark";
    remember("theme", root.dataset.theme);
  });
}
