// The button that judges the run again with what people decided since.
import { byId, make, plural } from "./dom.js";

export function setUpJudgingAgain(run, backend, queue, { announce, notify }) {
  const button = byId("again");
  if (!run.judges_again) return;
  let asked = false;
  button.addEventListener("click", async () => {
    if (button.getAttribute("aria-disabled") === "true") return;
    asked = true;
    show(true, 0);
    announce("Judging again. The page is loaded anew when it is done; you can go on meanwhile.");
    try { await backend.judge(); } catch (error) { asked = false; notify(make("p", {}, `Not judged again: ${error.message}.`)); }
  });
  const show = (running, since) => {
    button.hidden = !running && since === 0;
    button.setAttribute("aria-disabled", String(running));
    button.classList.toggle("busy", running);
    button.replaceChildren(running ? "Judging again …" : "Judge again", ...(running ? [] : [make("span", { class: "wide" }, `: ${plural(since, "decision")} since the last verdict`)]));
    button.title = running ? "The page is loaded anew when it is done" : `${plural(since, "decision")} since the last verdict: judge again`;
  };
  queue.onJudging = ({ key, since_verdict: since, running, problem }) => {
    if (key !== run.key) { location.reload(); return; } // decisions are on the disk already
    show(running, since);
    if (asked && !running) {
      asked = false;
      if (problem) notify(make("p", {}, `Not judged again: ${problem}.`));
    }
  };
}
