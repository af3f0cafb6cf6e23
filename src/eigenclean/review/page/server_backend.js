// Stores decisions on the server, which answers only after it has committed them.

export class Refused extends Error {}
export class Unreachable extends Error {}

async function request(address, body) {
  const options = body === undefined ? {} : {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body),
  };
  let answer;
  try {
    answer = await fetch(address, { ...options, credentials: "same-origin", redirect: "error", signal: AbortSignal.timeout(15000) });
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
  async open() {
    const opened = await (await request("/api/run")).json();
    this.key = opened.run.key;
    return opened;
  }
  async items(positions) { return (await request(`/api/items?at=${positions.join(",")}`)).json(); }
  async decide(body) { return (await request("/api/decisions", body)).json(); }
  async undo(body) { return (await request("/api/undo", body)).json(); }
  async changes(since) { return (await request(`/api/changes?since=${since}`)).json(); }
  async patch() { return (await request("/api/patch")).text(); }
  largeImage(row) { return `/picture/${this.key}/${row}`; }
  smallImage(row) { return `/small/${this.key}/${row}`; }
  // Polls for decisions made in other tabs and by other people: every second, and when the tab becomes visible.
  watch(poll) {
    const timer = setInterval(() => { if (!document.hidden) poll(); }, 1000);
    document.addEventListener("visibilitychange", () => { if (!document.hidden) poll(); });
    return () => clearInterval(timer);
  }
}
