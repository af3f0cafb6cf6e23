// Decisions in the browser: the single file has no server. Same answers, same rules, and as durable: IndexedDB is
// asked to have each decision on the disk before it says so, which localStorage would not do.
import { Refused } from "./server_backend.js";

const ENTRIES = "entries";

export class LocalBackend {
  constructor(data) {
    this.run = data.run;
    this.known = data.items;
    this.pictures = data.pictures;
    this.entries = []; // the history as far as this tab has read it
  }
  async open() {
    this.db = await this.#connect(`eigenclean review ${this.run.data_hash} ${this.run.key}`);
    await this.#reading();
    return { run: this.run, decisions: [...this.#last().values()], seq: this.entries.length };
  }
  async items(places) { return places.map((place) => this.known[place]); }
  decide({ decisions, reviewer, action }) {
    return this.#writing(() => {
      const last = this.#last(), made = [], conflicts = [];
      for (const { item, state, label, base } of decisions) {
        const before = last.get(item);
        if (before && before.seq !== base) conflicts.push(before);
        else made.push({ item, state, label: label ?? -1, reviewer, action, ...old(before) });
      }
      return { made, conflicts };
    });
  }
  undo({ reviewer, request }) {
    return this.#writing(() => {
      const last = this.#last(), undone = new Set(this.entries.map((entry) => entry.undoes));
      const action = this.entries.findLast((entry) => !entry.undoes && !undone.has(entry.action))?.action;
      const taken = this.entries.filter((entry) => action !== undefined && entry.action === action).reverse();
      const made = taken.map(({ item, old_state: state, old_label: label }) => ({
        item, state, label, reviewer, action: request, undoes: action, ...old(last.get(item)),
      }));
      return { made, conflicts: [] };
    });
  }
  async changes(since) {
    await this.#reading();
    return { changes: this.entries.slice(since), seq: this.entries.length };
  }
  async patch() {
    await this.#reading();
    const { ids, labels, given, wrong, data_hash: hash } = this.run;
    const written = ({ kind, text }, at) => (kind === "text" ? JSON.stringify(text[at]) : text[at]);
    const lines = [...this.#last().values()].filter((entry) => entry.state !== "open").map((entry) => {
      const before = written(labels, given[entry.item]);
      const after = entry.state === "relabel" ? written(labels, entry.label) : entry.state === "keep" ? before : "null";
      // Ids and labels are pasted as the text they came as: numbers above 2^53 keep their digits.
      return `{"id": ${written(ids, entry.item)}, "decision": ${JSON.stringify(entry.state)}, "old": ${before}, "new": ${after}, `
        + `"score": ${Number((1 - wrong[entry.item]).toFixed(4))}, "reason": "", "reviewer": ${JSON.stringify(entry.reviewer)}, `
        + `"time": ${JSON.stringify(entry.time)}, "data_hash": ${JSON.stringify(hash)}}\n`;
    });
    if (lines.length === 0) throw new Refused("there are no decisions to export; review some labels first");
    return lines.join("");
  }
  picture(row) { return this.pictures[row]; }
  small(row) { return this.pictures[row]; }
  watch(look) { // the same file in another tab
    const timer = setInterval(() => { if (!document.hidden) look(); }, 1000);
    return () => clearInterval(timer);
  }

  #connect(name) {
    return new Promise((resolve, reject) => {
      const refuse = () => reject(new Refused("this browser does not let the page keep decisions; open it in another one"));
      try {
        const asked = indexedDB.open(name, 1);
        asked.onupgradeneeded = () => asked.result.createObjectStore(ENTRIES, { keyPath: "seq" });
        asked.onsuccess = () => resolve(asked.result);
        asked.onerror = refuse;
      } catch { refuse(); }
    });
  }

  // What is in the store beyond what this tab has read.
  #catch_up(store, then) {
    store.getAll(IDBKeyRange.lowerBound(this.entries.length, true)).onsuccess = ({ target }) => {
      this.entries.push(...target.result);
      then();
    };
  }

  #reading() {
    return new Promise((resolve, reject) => {
      const work = this.db.transaction(ENTRIES, "readonly");
      work.onerror = work.onabort = () => reject(new Refused("the decisions cannot be read"));
      this.#catch_up(work.objectStore(ENTRIES), resolve);
    });
  }

  // Tabs take turns, and a transaction is all or nothing.
  #writing(plan) {
    return new Promise((resolve, reject) => {
      const work = this.db.transaction(ENTRIES, "readwrite", { durability: "strict" });
      const store = work.objectStore(ENTRIES);
      let outcome, seq;
      work.onerror = work.onabort = () => reject(new Refused("this browser has no room for more decisions; export the patch"));
      work.oncomplete = () => { this.entries.push(...outcome.entries); resolve(outcome); };
      this.#catch_up(store, () => {
        const { made, conflicts } = plan();
        seq = this.entries.length;
        outcome = { entries: made.map((entry, at) => ({ ...entry, seq: seq + at + 1, time: new Date().toISOString() })), conflicts };
        for (const entry of outcome.entries) store.add(entry);
      });
    });
  }

  #last() { return new Map(this.entries.map((entry) => [entry.item, entry])); }
}

const old = (before) => ({ old_state: before?.state ?? "open", old_label: before?.label ?? -1 });
