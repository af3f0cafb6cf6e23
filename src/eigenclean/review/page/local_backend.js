// Decisions in the browser: the single file has no server. Same answers, same rules.
import { Refused } from "./server_backend.js";

export class LocalBackend {
  constructor(data) {
    this.run = data.run;
    this.known = data.items;
    this.pictures = data.pictures;
    this.store = `eigenclean review ${data.run.data_hash} ${data.run.key}`;
  }
  async open() {
    const entries = this.#entries();
    return { run: this.run, decisions: this.#last(entries), seq: entries.length };
  }
  async items(places) { return places.map((place) => this.known[place]); }
  async decide({ decisions, reviewer, action }) {
    const entries = this.#entries(), last = this.#byItem(entries), made = [], conflicts = [];
    for (const { item, state, label, base } of decisions) {
      const before = last.get(item);
      if (before && before.seq !== base) { conflicts.push(before); continue; }
      made.push(this.#entry(entries.length + made.length + 1, item, state, label, before, reviewer, action));
    }
    this.#save([...entries, ...made]);
    return { entries: made, conflicts };
  }
  async undo({ reviewer, request }) {
    const entries = this.#entries(), last = this.#byItem(entries);
    const undone = new Set(entries.map((entry) => entry.undoes));
    const action = entries.findLast((entry) => !entry.undoes && !undone.has(entry.action))?.action;
    const made = entries.filter((entry) => action !== undefined && entry.action === action).reverse().map((entry, at) => ({
      ...this.#entry(entries.length + at + 1, entry.item, entry.old_state, entry.old_label, last.get(entry.item), reviewer, request),
      undoes: action,
    }));
    this.#save([...entries, ...made]);
    return { entries: made, conflicts: [] };
  }
  async changes(since) {
    const entries = this.#entries();
    return { changes: entries.slice(since), seq: entries.length };
  }
  async patch() {
    const { ids, labels, given, wrong, data_hash: hash } = this.run;
    const written = ({ kind, text }, at) => (kind === "text" ? JSON.stringify(text[at]) : text[at]);
    const lines = this.#last(this.#entries()).filter((entry) => entry.state !== "open").map((entry) => {
      const old = written(labels, given[entry.item]);
      const fresh = entry.state === "relabel" ? written(labels, entry.label) : entry.state === "keep" ? old : "null";
      // Ids and labels are pasted as the text they came as: numbers above 2^53 keep their digits.
      return `{"id": ${written(ids, entry.item)}, "decision": ${JSON.stringify(entry.state)}, "old": ${old}, "new": ${fresh}, `
        + `"score": ${Number((1 - wrong[entry.item]).toFixed(4))}, "reason": "", "reviewer": ${JSON.stringify(entry.reviewer)}, `
        + `"time": ${JSON.stringify(entry.time)}, "data_hash": ${JSON.stringify(hash)}}\n`;
    });
    if (lines.length === 0) throw new Refused("there are no decisions to export; review some labels first");
    return lines.join("");
  }
  picture(row) { return this.pictures[row]; }
  small(row) { return this.pictures[row]; }
  watch(look) {
    const heard = (event) => { if (event.key === this.store) look(); };
    addEventListener("storage", heard); // the same file in another tab
    return () => removeEventListener("storage", heard);
  }

  #entries() {
    try {
      return JSON.parse(localStorage.getItem(this.store) ?? "[]");
    } catch {
      throw new Refused("this browser does not let the page keep decisions; open it in another one");
    }
  }
  #save(entries) {
    try {
      localStorage.setItem(this.store, JSON.stringify(entries));
    } catch {
      throw new Refused("this browser has no room for more decisions; export the patch");
    }
  }
  #entry(seq, item, state, label, before, reviewer, action) {
    return {
      seq, item, state, label: label ?? -1, reviewer, time: new Date().toISOString(), action,
      old_state: before?.state ?? "open", old_label: before?.label ?? -1,
    };
  }
  #byItem(entries) { return new Map(entries.map((entry) => [entry.item, entry])); }
  #last(entries) { return [...this.#byItem(entries).values()]; }
}
