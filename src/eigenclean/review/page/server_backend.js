// Decisions on the server: told as saved only when it has committed them.

export class Refused extends Error {}
export class Unreachable extends Error {}

async function ask(address, body) {
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
    const told = await answer.json().catch(() => ({ error: `the server answered ${answer.status}` }));
    throw answer.status >= 500 ? new Unreachable(told.error) : new Refused(told.error);
  }
  return answer;
}

export class ServerBackend {
  async open() {
    const opened = await (await ask("/api/run")).json();
    this.key = opened.run.key;
    return opened;
  }
  async items(places) { return (await ask(`/api/items?at=${places.join(",")}`)).json(); }
  async decide(body) { return (await ask("/api/decisions", body)).json(); }
  async undo(body) { return (await ask("/api/undo", body)).json(); }
  async changes(since) { return (await ask(`/api/changes?since=${since}`)).json(); }
  async patch() { return (await ask("/api/patch")).text(); }
  picture(row) { return `/picture/${this.key}/${row}`; }
  small(row) { return `/small/${this.key}/${row}`; }
  watch(look) {
    // Other tabs and other people: what they decide is here within a second, and at once when one comes back.
    const timer = setInterval(() => { if (!document.hidden) look(); }, 1000);
    document.addEventListener("visibilitychange", () => { if (!document.hidden) look(); });
    return () => clearInterval(timer);
  }
}
