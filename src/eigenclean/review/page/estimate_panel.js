// Shows the live estimate below the list.
import { byId, count, make, percent } from "./dom.js";
import { estimate } from "./estimate.js";

export function drawEstimate(model) {
  if (!model.n) { byId("estimate").hidden = true; return; }
  const verdicts = model.verdicts(), isFlagged = (_, at) => model.flagged[at];
  const { noise, found, right } = estimate(model.wrong, verdicts, model.run.rest);
  const { precision } = estimate(model.wrong.filter(isFlagged), verdicts.filter(isFlagged), model.run.rest);
  drawInterval("precision", precision, 1);
  drawInterval("noise", noise, Math.min(1, Math.max(0.05, 1.6 * noise[2])), 1);
  byId("basis").textContent = found + right
    ? `${count(found)} found wrong, ${count(right)} right; 90 % intervals`
    : "By the detector alone; 90 % intervals";
}

// A share with its interval, as text and as a bar whose right end is `scale`.
function drawInterval(id, [estimated, low, high], scale, digits = 0) {
  const box = byId(id);
  const bound = (share) => (100 * share).toFixed(digits);
  box.replaceChildren(percent(estimated, digits), make("small", { class: "soft" }, ` ${bound(low)} to ${bound(high)}`));
  box.title = `between ${percent(low, digits)} and ${percent(high, digits)}`;
  const [bar, tick] = box.nextElementSibling.children;
  bar.style.left = `${(100 * low) / scale}%`;
  bar.style.width = `${(100 * (high - low)) / scale}%`;
  tick.style.left = `${(100 * estimated) / scale}%`;
  box.nextElementSibling.setAttribute("aria-label", box.title);
  box.nextElementSibling.setAttribute("role", "img");
}
