// The filters above the list.
import { byId, count, make } from "./dom.js";
import { pairs } from "./model.js";

export function setUpFilters(model) {
  const { both, given, suggested, none } = pairs(model);
  const short = (code) => { const name = model.name(Number(code)); return name.length > 40 ? `${name.slice(0, 39)}…` : name; };
  const options = (title, entries, value, text) => (entries.length
    ? [make("optgroup", { label: title }, ...entries.map(([key, n]) => make("option", { value: `${value}:${key}` }, `${text(key)} · ${count(n)}`)))]
    : []);
  byId("filter-pair").append(
    make("option", { value: "" }, "All labels"),
    ...(none ? [make("option", { value: "none" }, `None of the classes · ${count(none)}`),
      make("option", { value: "some" }, `One of the classes · ${count(model.n - none)}`)] : []),
    ...options("Labelled → looks like", both, "both", (key) => key.split(":").map(short).join(" → ")),
    ...options("Labelled", given, "given", short),
    ...options("Looks like", suggested, "suggested", short),
  );
  const capitalised = (text) => text[0].toUpperCase() + text.slice(1);
  byId("filter-band").append(...model.run.bands.map(({ name, rule }) => make("option", { value: name }, `${capitalised(name)}: ${rule}`)));
  const update = () => model.setFilter({
    pair: byId("filter-pair").value, band: byId("filter-band").value, state: byId("filter-state").value, id: byId("filter-id").value,
  });
  for (const name of ["pair", "band", "state"]) byId(`filter-${name}`).addEventListener("change", update);
  let timer;
  byId("filter-id").addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(update, 120); });
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
}
