// The state of the page: suspects, decisions, filter and current suspect. It dispatches "decided", "filtered", "moved".

export const STATES = ["open", "keep", "relabel", "remove", "unsure"];
export const NO_CLASS = -2; // in place of a suggested label: the sample belongs to none of the classes

export class Model extends EventTarget {
  // The columns are those of columns.js; base is the number of the last entry about each suspect.
  constructor({ run, columns, decisions, seq }) {
    super();
    this.run = run;
    this.n = run.n;
    const { id: ids, row, given, suggested, flagged, wrong, confidence, state, label, base } = columns;
    Object.assign(this, { ids, row, given, suggested, flagged, wrong, confidence, state, label, base });
    this.signatures = new Map(); // who decided last, when, and the note, as far as it was seen to happen
    this.seq = seq;
    this.judged = state.reduce((n, code) => n + Number(code > 0), 0);
    this.filter = { pair: "", band: "", state: "", id: "", codes: null, code: -1, inside: null }; // codes: a group of values of each suspect; inside: 1 for those selected on the map
    this.current = this.n > 0 ? 0 : -1;
    this.#record(decisions);
    this.#applyFilter();
    this.current = this.nextOpen(-1) ?? this.current;
  }

  name(code) { return this.run.labels.text[code] ?? "?"; }
  id(item) { return this.ids[item]; }
  stateOf(item) { return STATES[this.state[item]]; }
  place(item) { return item < 0 ? -1 : this.places[item]; }

  // Takes in entries of the history; an older one never overwrites a newer one.
  apply(entries) {
    if (!this.#record(entries)) return;
    if (this.filter.state) this.#applyFilter();
    this.#notify("decided");
  }

  setFilter(change) {
    Object.assign(this.filter, change);
    this.#applyFilter();
    if (this.place(this.current) < 0) this.current = this.order.length ? this.nextOpen(-1) ?? this.order[0] : -1;
    this.#notify("filtered");
  }

  go(item) {
    if (item === null || item === undefined || item < 0 || item === this.current) return;
    this.current = item;
    this.#notify("moved");
  }

  // The suspect that is `by` places further in the filtered list; if the current one is filtered out, counted from
  // where it would be.
  step(by) {
    if (!this.order.length) return null;
    const at = this.place(this.current);
    const from = at >= 0 ? at + by : by > 0 ? this.#after(this.current) : this.#after(this.current) - 1;
    return this.order[Math.min(this.order.length - 1, Math.max(0, from))];
  }

  // The next suspect without a decision, from the start again after the last one; null when there is none.
  nextOpen(item) {
    const n = this.order.length;
    const start = item < 0 ? 0 : this.place(item) >= 0 ? this.place(item) + 1 : this.#after(item);
    for (let step = 0; step < n; step++) {
      const candidate = this.order[(start + step) % n];
      if (this.state[candidate] === 0 && candidate !== item) return candidate;
    }
    return null;
  }

  // 1 where the label was found wrong, 0 where it was found right, -1 where it is undecided.
  verdicts() {
    const codes = Int8Array.of(-1, 0, 1, 1, -1);
    return Int8Array.from(this.state, (state) => codes[state]);
  }

  #after(item) { // positions in the list are ascending
    let low = 0, high = this.order.length;
    while (low < high) { const mid = (low + high) >> 1; if (this.order[mid] < item) low = mid + 1; else high = mid; }
    return low;
  }

  #record(entries) {
    let changed = false;
    for (const { seq, item, state, label, name, reviewer, time, note } of entries) {
      if (name !== undefined) this.run.labels.text[label] = name; // a label that was typed
      if (seq <= this.base[item]) continue;
      const code = STATES.indexOf(state);
      this.judged += Number(code > 0) - Number(this.state[item] > 0);
      this.state[item] = code;
      this.label[item] = label ?? -1;
      this.base[item] = seq;
      this.signatures.set(item, { reviewer, time, note: note ?? "" });
      changed = true;
    }
    return changed;
  }

  #applyFilter() {
    const { pair, band, state, id, codes, code, inside } = this.filter;
    const [kind, given, suggested] = pair.split(":");
    const [low, high] = this.#bandLimits(band);
    const wanted = state === "" ? -1 : STATES.indexOf(state);
    const searched = id.trim().toLowerCase();
    const order = new Int32Array(this.n);
    let n = 0;
    for (let i = 0; i < this.n; i++) {
      if (wanted >= 0 && this.state[i] !== wanted) continue;
      if (this.wrong[i] < low || this.wrong[i] >= high) continue;
      if (kind === "both" && (this.given[i] !== Number(given) || this.suggested[i] !== Number(suggested))) continue;
      if (kind === "given" && this.given[i] !== Number(given)) continue;
      if (kind === "none" && this.suggested[i] !== NO_CLASS) continue;
      if (kind === "some" && this.suggested[i] === NO_CLASS) continue;
      if (kind === "suggested" && this.suggested[i] !== Number(given)) continue;
      if (codes !== null && codes[i] !== code) continue;
      if (inside !== null && inside[i] !== 1) continue;
      if (searched && !this.ids[i].toLowerCase().includes(searched)) continue;
      order[n++] = i;
    }
    this.order = order.subarray(0, n);
    this.places = new Int32Array(this.n).fill(-1);
    this.order.forEach((item, place) => { this.places[item] = place; });
  }

  // Bands come from the highest to the lowest; "" stands for all of them.
  #bandLimits(name) {
    const at = this.run.bands.findIndex((band) => band.name === name);
    return at < 0 ? [-Infinity, Infinity] : [this.run.bands[at].lower, this.run.bands[at - 1]?.lower ?? Infinity];
  }

  #notify(event) { this.dispatchEvent(new Event(event)); }
}

// The choices of the label filter: frequent pairs of given and suggested label, then each label.
export function pairs(model) {
  const both = new Map(), given = new Map(), suggested = new Map();
  const none = model.suggested.reduce((n, code) => n + Number(code === NO_CLASS), 0);
  const add = (map, key) => map.set(key, (map.get(key) ?? 0) + 1);
  for (let i = 0; i < model.n; i++) {
    add(given, model.given[i]);
    if (model.suggested[i] >= 0) {
      add(suggested, model.suggested[i]);
      add(both, `${model.given[i]}:${model.suggested[i]}`);
    }
  }
  const frequent = (map) => [...map].sort((a, b) => b[1] - a[1]);
  return { both: frequent(both).slice(0, 1000), given: frequent(given), suggested: frequent(suggested), none };
}
