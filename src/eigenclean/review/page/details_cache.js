// Texts, alignments and neighbours of suspects: requested in batches, the latest are cached.

const CACHE_SIZE = 2000, BATCH_SIZE = 50;

export class DetailsCache {
  constructor(backend) {
    this.backend = backend;
    this.cached = new Map();
    this.pending = new Map();
    this.timer = null;
  }

  peek(item) { return this.cached.get(item); }

  get(item) {
    if (this.cached.has(item)) return Promise.resolve(this.cached.get(item));
    if (!this.pending.has(item)) {
      let settle;
      const promise = new Promise((resolve, reject) => { settle = { resolve, reject }; });
      promise.catch(() => {}); // callers handle the rejection; without this it would also count as unhandled
      this.pending.set(item, { promise, ...settle, requested: false });
      this.timer ??= setTimeout(() => this.#fetch(), 10);
    }
    return this.pending.get(item).promise;
  }

  // Drops a request that has not been sent yet, for a row that was scrolled past.
  forget(item) {
    const entry = this.pending.get(item);
    if (entry && !entry.requested) { this.pending.delete(item); entry.reject(new Error("no longer wanted")); }
  }

  async #fetch() {
    this.timer = null;
    const positions = [...this.pending.keys()].filter((item) => !this.pending.get(item).requested).slice(0, BATCH_SIZE);
    if (!positions.length) return;
    const entries = positions.map((item) => this.pending.get(item));
    for (const entry of entries) entry.requested = true;
    try {
      const items = await this.backend.items(positions);
      positions.forEach((position, at) => {
        this.cached.set(position, items[at]);
        this.pending.delete(position);
        entries[at].resolve(items[at]);
      });
      for (const oldest of this.cached.keys()) { if (this.cached.size <= CACHE_SIZE) break; this.cached.delete(oldest); }
    } catch (error) {
      positions.forEach((position, at) => { this.pending.delete(position); entries[at].reject(error); });
    }
    if (this.pending.size) this.timer ??= setTimeout(() => this.#fetch(), 10);
  }
}
