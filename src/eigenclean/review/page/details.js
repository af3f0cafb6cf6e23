// What the list does not hold: texts, alignments, neighbours. Asked for together, kept for a while.

const KEPT = 2000, AT_ONCE = 50;

export class Details {
  constructor(backend) {
    this.backend = backend;
    this.known = new Map();
    this.waiting = new Map();
    this.timer = null;
  }

  peek(item) { return this.known.get(item); }

  get(item) {
    if (this.known.has(item)) return Promise.resolve(this.known.get(item));
    if (!this.waiting.has(item)) {
      let settle;
      const promise = new Promise((resolve, reject) => { settle = { resolve, reject }; });
      promise.catch(() => {}); // whoever asked hears of it; nobody else needs to
      this.waiting.set(item, { promise, ...settle, asked: false });
      this.timer ??= setTimeout(() => this.#fetch(), 10);
    }
    return this.waiting.get(item).promise;
  }

  // Rows that were scrolled past are not asked for.
  forget(item) {
    const entry = this.waiting.get(item);
    if (entry && !entry.asked) { this.waiting.delete(item); entry.reject(new Error("no longer wanted")); }
  }

  async #fetch() {
    this.timer = null;
    const places = [...this.waiting.keys()].filter((item) => !this.waiting.get(item).asked).slice(0, AT_ONCE);
    if (!places.length) return;
    const entries = places.map((item) => this.waiting.get(item));
    for (const entry of entries) entry.asked = true;
    try {
      const items = await this.backend.items(places);
      places.forEach((place, at) => {
        this.known.set(place, items[at]);
        this.waiting.delete(place);
        entries[at].resolve(items[at]);
      });
      for (const old of this.known.keys()) { if (this.known.size <= KEPT) break; this.known.delete(old); }
    } catch (error) {
      places.forEach((place, at) => { this.waiting.delete(place); entries[at].reject(error); });
    }
    if (this.waiting.size) this.timer ??= setTimeout(() => this.#fetch(), 10);
  }
}
