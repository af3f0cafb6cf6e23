// A page that is opened from a folder (file:) may not start a worker. The search of the theme then runs in a hidden
// frame, which gets and sends messages as a worker does.
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    #frame = document.createElement("iframe");
    #loaded;

    constructor(url) {
      super();
      this.#frame.hidden = true;
      document.body.append(this.#frame);
      const inner = this.#frame.contentWindow;
      inner.postMessage = (data) => this.#dispatch(this, data);
      const script = inner.document.createElement("script");
      this.#loaded = new Promise((resolve) => { script.onload = resolve; });
      script.src = new URL(url, location.href);
      inner.document.body.append(script);
    }

    postMessage(data) {
      this.#loaded.then(() => this.#dispatch(this.#frame.contentWindow, data));
    }

    terminate() { this.#frame.remove(); }

    #dispatch(target, data) { target.dispatchEvent(new MessageEvent("message", { data })); }
  };
  window.Worker = window.IFrameWorker;
}
