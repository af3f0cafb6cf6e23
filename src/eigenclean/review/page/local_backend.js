// Stores decisions in the browser, for the exported file, which has no server. It answers as the server does. IndexedDB
// and not localStorage, because it can confirm that a decision is on the disk.
import { fillColumns, makeColumns } from "./columns.js";
import { newLabel } from "./new_label.js";
import { Refused } from "./server_backend.js";

const ENTRIES = "entries";

export class LocalBackend {
  constructor(data) {
    this.run = data.run;
    this.columns = makeColumns(data.run.n);
    fillColumns(this.columns, 0, data.suspects);
    this.details = data.items;
    this.images = data.images;
    this.columnGroups = data.groups;
    this.points = data.map;
    this.nClasses = data.run.labels.text.length;
    this.entries = []; // the history, as far as this tab has read it
  }
  async open() {
    this.db = await this.#connect(`eigenclean review ${this.run.data_hash} ${this.run.key}`);
    await this.#refresh();
    return { run: this.run, columns: this.columns, decisions: [...this.#latest().values()], seq: this.entries.length };
  }
  async items(positions) { return positions.map((position) => this.details[position]); }
  async groups(column) { return this.columnGroups[column]; }
  async map() { return this.points; }
  decide({ decisions, reviewer, action }) {
    return this.#commit(() => {
      const latest = this.#latest(), accepted = [], conflicts = [];
      for (const { item, state, label, note, base } of decisions) {
        const before = latest.get(item);
        if (before && before.seq !== base) conflicts.push(before);
        else accepted.push({ item, state, ...this.#named(label ?? -1), reviewer, action, ...replaced(before), note: note ?? before?.note ?? "" });
      }
      return { accepted, conflicts };
    });
  }
  undo({ reviewer, request }) {
    return this.#commit(() => {
      const latest = this.#latest(), undone = new Set(this.entries.map((entry) => entry.undoes));
      const action = this.entries.findLast((entry) => !entry.undoes && !undone.has(entry.action))?.action;
      const entries = this.entries.filter((entry) => action !== undefined && entry.action === action).reverse();
      const accepted = entries.map(({ item, old_state: state, old_label: label, old_note: note }) => ({
        item, state, ...this.#named(label), reviewer, action: request, undoes: action, ...replaced(latest.get(item)), note: note ?? "",
      }));
      return { accepted, conflicts: [] };
    });
  }
  async changes(since) {
    await this.#refresh();
    return { changes: this.entries.slice(since), seq: this.entries.length, more: false };
  }
  async export() {
    const { name } = this.run;
    return { path: null, next: ["eigenclean patch show patch.jsonl", `eigenclean patch apply ${shellWord(name)} patch.jsonl --in-place`] };
  }
  async patch() {
    await this.#refresh();
    const { labels, id_kind: idKind, data_hash: hash } = this.run, { id, given, wrong } = this.columns;
    const asJson = (kind, text) => (kind === "text" ? JSON.stringify(text) : text);
    const labelJson = (code) => asJson(labels.kind, labels.text[code]);
    const lines = [...this.#latest().values()].filter((entry) => entry.state !== "open").map((entry) => {
      const before = labelJson(given[entry.item]);
      const after = entry.state === "relabel" ? labelJson(entry.label) : entry.state === "keep" ? before : "null";
      // Ids and labels are inserted as text, so that integers above 2^53 keep their digits.
      return `{"id": ${asJson(idKind, id[entry.item])}, "decision": ${JSON.stringify(entry.state)}, "old": ${before}, "new": ${after}, `
        + `"score": ${Number((1 - wrong[entry.item]).toFixed(4))}, "reason": ${JSON.stringify(entry.note ?? "")}, "reviewer": ${JSON.stringify(entry.reviewer)}, `
        + `"time": ${JSON.stringify(entry.time)}, "data_hash": ${JSON.stringify(hash)}}\n`;
    });
    if (lines.length === 0) throw new Refused("there are no decisions to export; review some labels first");
    return lines.join("");
  }
  largeImage(row) { return this.images[row]; }
  smallImage(row) { return this.images[row]; }
  watch(poll) { // the same file in another tab
    const timer = setInterval(() => { if (!document.hidden) poll(); }, 1000);
    return () => clearInterval(timer);
  }

  #connect(name) {
    return new Promise((resolve, reject) => {
      const fail = () => reject(new Refused("this browser does not let the page keep decisions; open it in another one"));
      try {
        const request = indexedDB.open(name, 1);
        request.onupgradeneeded = () => request.result.createObjectStore(ENTRIES, { keyPath: "seq" });
        request.onsuccess = () => resolve(request.result);
        request.onerror = fail;
      } catch { fail(); }
    });
  }

  // Reads the entries that other tabs have added.
  #readNewEntries(store, then) {
    store.getAll(IDBKeyRange.lowerBound(this.entries.length, true)).onsuccess = ({ target }) => {
      for (const entry of target.result) this.#add(entry);
      then();
    };
  }

  #refresh() {
    return new Promise((resolve, reject) => {
      const transaction = this.db.transaction(ENTRIES, "readonly");
      transaction.onerror = transaction.onabort = () => reject(new Refused("the decisions cannot be read"));
      this.#readNewEntries(transaction.objectStore(ENTRIES), resolve);
    });
  }

  // plan() is called inside a transaction, after the entries of other tabs were read.
  #commit(plan) {
    return new Promise((resolve, reject) => {
      const transaction = this.db.transaction(ENTRIES, "readwrite", { durability: "strict" });
      const store = transaction.objectStore(ENTRIES);
      let outcome, seq;
      transaction.onerror = transaction.onabort = () => reject(new Refused("this browser has no room for more decisions; export the patch"));
      transaction.oncomplete = () => {
        for (const entry of outcome.entries) this.#add(entry);
        resolve({ ...outcome, n: outcome.entries.length });
      };
      this.#readNewEntries(store, () => {
        const { accepted, conflicts } = plan();
        seq = this.entries.length;
        outcome = { entries: accepted.map((entry, at) => ({ ...entry, seq: seq + at + 1, time: new Date().toISOString() })), conflicts };
        for (const entry of outcome.entries) store.add(entry);
      });
    });
  }

  #add(entry) {
    if (entry.name !== undefined) this.run.labels.text[entry.label] = entry.name;
    this.entries.push(entry);
  }

  // The code of a label, and the label itself where the verdict does not have it; a text is a label that was typed.
  #named(label) {
    const { text } = this.run.labels;
    let code = label;
    if (typeof label === "string") {
      const typed = newLabel(this.run, label);
      if (typed === null) throw new Refused("this text cannot be a label of these data");
      if (!text.includes(typed)) text.push(typed);
      code = text.indexOf(typed);
    }
    return code >= this.nClasses ? { label: code, name: text[code] } : { label: code };
  }

  #latest() { return new Map(this.entries.map((entry) => [entry.item, entry])); }
}

const shellWord = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\"'\"'")}'`);
const replaced = (before) => ({ old_state: before?.state ?? "open", old_label: before?.label ?? -1, old_note: before?.note ?? "" });
