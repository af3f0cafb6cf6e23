// The view with the map of all samples: what is selected on it filters the list, a click opens a suspect.
import { byId, percent, plural } from "./dom.js";
import { SampleMap } from "./map_view.js";

// The points are asked for when the map is opened for the first time. open(item) shows a suspect.
export function setUpMap(model, backend, { warn, open }) {
  let map = null, isAsked = false;
  byId("view-map").hidden = !model.run.map;
  byId("map-clear").addEventListener("click", () => map.clear());
  for (const event of ["moved", "filtered"]) model.addEventListener(event, mark);
  return { show, exists: model.run.map };

  async function show() {
    mark();
    if (map !== null) focus();
    if (isAsked) return;
    isAsked = true;
    byId("plane").textContent = "Placing the samples \u2026";
    try {
      const data = await backend.map();
      map = new SampleMap(byId("plane"), data, { labels: model.run.labels.text, describe: (point) => describe(data, point), onSelect: select, onPick: open });
      map.status.textContent = about(data);
      mark();
      if (!byId("map").hidden) focus();
    } catch (error) {
      isAsked = false;
      byId("plane").textContent = "";
      warn(`There is no map: ${error.message}.`);
    }
  }

  function focus() { map.canvas.focus({ preventScroll: true }); }

  function mark() {
    if (map !== null && map.current !== model.current) { map.current = model.current; map.draw(); }
  }

  // Suspects are the first points, in the order of the list; with very many of them the last ones have no point.
  function select(marks) {
    byId("map-clear").hidden = marks === null;
    model.setFilter({ inside: marks === null ? null : marks.subarray(0, map.points.nSuspects) });
    return marks === null ? "" : `${plural(model.order.length, "suspect")} in the list.`;
  }

  function about(data) {
    const missing = model.n - data.n_suspects, others = model.run.n_samples - data.n_points;
    return `${percent(data.explained)} of the variance of the features is in these two directions.`
      + (others > 0 ? ` Shown are ${plural(data.n_points, "sample")} of ${plural(model.run.n_samples, "sample")}, a random choice.` : "")
      + (missing > 0 ? ` ${plural(missing, "suspect")} at the end of the list ${missing === 1 ? "is" : "are"} not on the map.` : "");
  }

  function describe(data, point) {
    const name = (code) => `\u2068${model.name(code)}\u2069`;
    if (point >= data.n_suspects) return [name(map.points.given[point])];
    const { given, suggested, wrong } = model;
    return [name(given[point]) + (suggested[point] >= 0 ? ` \u2192 ${name(suggested[point])}` : ""), `${percent(wrong[point])} probably wrong`, model.id(point)];
  }
}
