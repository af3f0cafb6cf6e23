// Sends decisions to the store: in order, again until they are saved, and shown only when they are saved.
import { Refused } from "./server_backend.js";

const BATCH_SIZE = 2000; // decisions per request
const MAX_WAIT = 350; // milliseconds; while a save takes longer, further key presses are refused

export class DecisionQueue {
  // announce(sentence) writes to the live region for screen readers, warn(sentence or null) to the banner.
  constructor(model, backend, { reviewer, announce, warn }) {
    Object.assign(this, { model, backend, reviewer, announce, warn });
    this.queue = Promise.resolve();
    this.busySince = null;
    this.waiting = 0;
  }

  // choose() returns the decisions; it is called when the earlier ones are saved, so that two quick key presses are
  // about two suspects. onSaved(entries, conflicts) is called at the end.
  decide(choose, onSaved) {
    return this.#enqueue(async () => {
      const chosen = choose();
      if (!chosen.length) return;
      const action = uniqueId();
      const entries = [], conflicts = [];
      for (let start = 0; start < chosen.length; start += BATCH_SIZE) {
        const decisions = chosen.slice(start, start + BATCH_SIZE).map((decision) => ({ ...decision, base: this.model.base[decision.item] }));
        const body = { decisions, action, request: `${action}/${start}`, reviewer: this.reviewer() };
        const outcome = await this.#retryUntilSaved(() => this.backend.decide(body));
        entries.push(...outcome.entries);
        conflicts.push(...outcome.conflicts);
        this.model.apply([...outcome.entries, ...outcome.conflicts]);
      }
      onSaved(entries, conflicts);
    });
  }

  undo(onSaved) {
    return this.#enqueue(async () => {
      const request = uniqueId();
      const outcome = await this.#retryUntilSaved(() => this.backend.undo({ request, reviewer: this.reviewer() }));
      this.model.apply([...outcome.entries, ...outcome.conflicts]);
      if (outcome.n > outcome.entries.length) await this.poll(); // the answer has the first of very many
      onSaved(outcome.entries, outcome.conflicts, outcome.n);
    });
  }

  // Fetch what others decided.
  async poll() {
    if (this.polling) return;
    this.polling = true;
    try {
      let answer;
      do {
        answer = await this.backend.changes(this.model.seq);
        this.model.seq = answer.seq;
        this.model.apply(answer.changes);
      } while (answer.more);
      if (answer.judging) this.onJudging?.(answer.judging);
      if (this.busySince === null) this.warn(null);
    } catch (error) {
      if (this.busySince === null) this.warn(`No connection: ${error.message}.`);
    } finally {
      this.polling = false;
    }
  }

  #enqueue(work) {
    if (this.busySince !== null && (performance.now() - this.busySince > MAX_WAIT || this.waiting > 1)) {
      this.announce("Still saving the last decision.");
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
        this.announce(`Not saved: ${error.message}.`);
      } finally {
        this.busySince = null;
        this.waiting -= 1;
        document.body.classList.remove("saving");
      }
    });
    return this.queue;
  }

  // Repeats the same request until the store has answered; the store records a request only once.
  async #retryUntilSaved(send) {
    for (let attempt = 0; ; attempt++) {
      try {
        const outcome = await send();
        this.warn(null);
        return outcome;
      } catch (error) {
        if (error instanceof Refused) throw error;
        this.warn(`Not saved yet: ${error.message}.`);
        if (attempt === 0) this.announce(`Not saved yet: ${error.message}.`);
        await new Promise((resolve) => { setTimeout(resolve, Math.min(2000, 250 * (attempt + 1))); });
      }
    }
  }
}

const uniqueId = () => (crypto.randomUUID ? crypto.randomUUID() : `${Date.now()}-${Math.random()}`);
