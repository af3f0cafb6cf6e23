// Stores decisions on the server, which answers only after it has committed them.
import { fillColumns, makeColumns } from "./columns.js";

const PARALLEL_PAGES = 4;
const SLOW = 120; // seconds, for what may concern all decisions

export class Refused extends Error {}
export class Unreachable extends Error {}

async function request(address, body, seconds = 15) {
  const options = body === undefined ? {} : {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body),
  };
  let answer;
  try {
    answer = await fetch(address, { ...options, credentials: "same-origin", redirect: "error", signal: AbortSignal.timeout(1000 * seconds) });
  } catch {
    throw new Unreachable("the server does not answer. Start it again with `eigenclean review`; this page goes on by itself");
  }
  if (answer.status === 403) {
    throw new Unreachable("the server was started anew. Open the link that it printed; this page goes on by itself");
  }
  if (!answer.ok) {
    const problem = await answer.json().catch(() => ({ error: `the server answered ${answer.status}` }));
    throw answer.status >= 500 ? new Unreachable(problem.error) : new Refused(problem.error);
  }
  return answer;
}

export class ServerBackend {
  // The suspects come in pages, because a single answer with all of them would take long; onProgress(share) is told.
  async open(onProgress) {
    const { run, typed, seq } = await (await request("/api/run")).json();
    run.labels.text.push(...typed);
    const columns = makeColumns(run.n);
    let next = 0, loaded = 0;
    const loadPages = async () => {
      while (next < run.n) {
        const start = next;
        next += run.page_size;
        const page = await (await request(`/api/suspects?from=${start}`)).json();
        fillColumns(columns, start, page);
        loaded += page.row.length;
        onProgress(loaded / run.n);
      }
    };
    await Promise.all(Array.from({ length: PARALLEL_PAGES }, loadPages));
    this.key = run.key;
    return { run, columns, decisions: [], seq };
  }
  async items(positions) { return (await request(`/api/items?at=${positions.join(",")}`)).json(); }
  async groups(column) { return (await request(`/api/groups?column=${column}`)).json(); }
  async map() { return (await request("/api/map", undefined, SLOW)).json(); }
  async decide(body) { return (await request("/api/decisions", { ...body, key: this.key })).json(); }
  async judge() { return (await request("/api/judge", {})).json(); }
  async undo(body) { return (await request("/api/undo", body, SLOW)).json(); }
  async changes(since) { return (await request(`/api/changes?since=${since}`)).json(); }
  // Writes the patch into the folder of the run; says where it is and what to type next.
  async export() { return (await request("/api/export", {}, SLOW)).json(); }
  async patch() { return (await request("/api/patch", undefined, SLOW)).text(); }
  largeImage(row) { return `/picture/${this.key}/${row}`; }
  smallImage(row) { return `/small/${this.key}/${row}`; }
  // Polls for decisions made in other tabs and by other people: every second, and when the tab becomes visible.
  watch(poll) {
    const timer = setInterval(() => { if (!document.hidden) poll(); }, 1000);
    document.addEventListener("visibilitychange", () => { if (!document.hidden) poll(); });
    return () => clearInterval(timer);
  }
}
