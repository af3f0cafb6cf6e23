// Decisions on their way to the store: one after the other, sent again until they are saved, shown only then.
import { Refused } from "./server_backend.js";

const AT_ONCE = 2000; // decisions per request
const PATIENCE = 350; // milliseconds after which a further key press would be blind

export class Desk {
  // say(sentence) is for the reader, warn(sentence or null) for the banner.
  constructor(model, backend, { reviewer, say, warn }) {
    Object.assign(this, { model, backend, reviewer, say, warn });
    this.queue = Promise.resolve();
    this.busySince = null;
    this.waiting = 0;
  }

  // A decision is worked out when its turn comes, so that two quick keys mean two suspects.
  decide(choose, after) {
    return this.#line_up(async () => {
      const wanted = choose();
      if (!wanted.length) return;
      const action = crypto.randomUUID ? crypto.randomUUID() : `${Date.now()}-${Math.random()}`;
      const entries = [], conflicts = [];
      for (let start = 0; start < wanted.length; start += AT_ONCE) {
        const decisions = wanted.slice(start, start + AT_ONCE).map((one) => ({ ...one, base: this.model.base[one.item] }));
        const body = { decisions, action, request: `${action}/${start}`, reviewer: this.reviewer() };
        const outcome = await this.#surely(() => this.backend.decide(body));
        entries.push(...outcome.entries);
        conflicts.push(...outcome.conflicts);
        this.model.apply([...outcome.entries, ...outcome.conflicts]);
      }
      after(entries, conflicts);
    });
  }

  undo(after) {
    return this.#line_up(async () => {
      const request = crypto.randomUUID ? crypto.randomUUID() : `${Date.now()}-${Math.random()}`;
      const outcome = await this.#surely(() => this.backend.undo({ request, reviewer: this.reviewer() }));
      this.model.apply([...outcome.entries, ...outcome.conflicts]);
      after(outcome.entries, outcome.conflicts);
    });
  }

  async look() {
    if (this.looking) return;
    this.looking = true;
    try {
      let heard;
      do {
        heard = await this.backend.changes(this.model.seq);
        this.model.seq = heard.seq;
        this.model.apply(heard.changes);
      } while (heard.changes.length >= 1000);
      if (this.busySince === null) this.warn(null);
    } catch (error) {
      if (this.busySince === null) this.warn(`Out of touch: ${error.message}.`);
    } finally {
      this.looking = false;
    }
  }

  #line_up(work) {
    if (this.busySince !== null && (performance.now() - this.busySince > PATIENCE || this.waiting > 1)) {
      this.say("Still saving the last decision.");
      return this.queue;
    }
    this.waiting += 1;
    this.queue = this.queue.then(async () => {
      this.busySince = performance.now();
      document.body.classList.add("saving");
      try {
        await work();
      } catch (error) {
        this.warn(`Not saved: ${error.message}.`);
        this.say(`Not saved: ${error.message}.`);
      } finally {
        this.busySince = null;
        this.waiting -= 1;
        document.body.classList.remove("saving");
      }
    });
    return this.queue;
  }

  // The same request again, until the store has answered; it knows which requests it has seen.
  async #surely(send) {
    for (let round = 0; ; round++) {
      try {
        const outcome = await send();
        this.warn(null);
        return outcome;
      } catch (error) {
        if (error instanceof Refused) throw error;
        this.warn(`Not saved yet: ${error.message}.`);
        if (round === 0) this.say(`Not saved yet: ${error.message}.`);
        await new Promise((resolve) => { setTimeout(resolve, Math.min(2000, 250 * (round + 1))); });
      }
    }
  }
}
