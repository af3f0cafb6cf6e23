// The grid: select many suspects and decide about all of them.
import { byId, count, plural } from "./dom.js";
import { VirtualList } from "./virtual_list.js";

export class Grid {
  constructor(model, cells, onSelect) {
    Object.assign(this, { model, onSelect });
    this.selected = new Set();
    this.anchor = null;
    const { run } = model;
    const cellSize = run.images ? { width: 148, height: 212 } : run.texts ? { width: 240, height: 196 } : run.table ? { width: 224, height: 148 } : { width: 188, height: 132 };
    this.box = byId("cells");
    this.list = new VirtualList(this.box, {
      order: () => model.order, prefix: "cell", size: () => (innerWidth < 560 && run.images ? { width: 108, height: 178 } : cellSize),
      fill: (element, item) => cells.card(element, item, this.selected.has(item), item === model.current),
    });
    this.box.addEventListener("click", (event) => this.#click(event));
    this.box.addEventListener("keydown", (event) => this.#key(event));
    byId("select-all").addEventListener("click", () => this.select(model.order));
    byId("select-none").addEventListener("click", () => this.select([]));
  }

  draw() {
    this.list.measure();
    this.list.draw(true);
    this.box.setAttribute("aria-activedescendant", this.model.current >= 0 ? `cell-${this.model.current}` : "");
    byId("select-all").textContent = `Select all ${count(this.model.order.length)}`;
    byId("select-none").disabled = this.selected.size === 0;
    byId("selected").textContent = this.selected.size
      ? `${plural(this.selected.size, "suspect")} selected` : "Click, or press Space, to select; hold Shift for a range";
  }

  reveal() { this.list.reveal(this.model.place(this.model.current)); }

  // The suspects that a decision applies to: the visible part of the selection, else the current suspect.
  targets() {
    const shown = [...this.selected].filter((item) => this.model.place(item) >= 0).sort((a, b) => a - b);
    return shown.length || this.model.current < 0 ? shown : [this.model.current];
  }

  select(items) { this.selected = new Set(items); this.draw(); this.onSelect(); }

  toggle(item) {
    if (!this.selected.delete(item)) this.selected.add(item);
    this.anchor = item;
    this.draw();
    this.onSelect();
  }

  #click(event) {
    const item = this.list.itemAt(event);
    if (item === null) return;
    this.model.go(item);
    if (event.shiftKey && this.anchor !== null && this.model.place(this.anchor) >= 0) {
      const [a, b] = [this.model.place(this.anchor), this.model.place(item)].sort((x, y) => x - y);
      this.select([...this.selected, ...this.model.order.subarray(a, b + 1)]);
    } else {
      this.toggle(item);
    }
  }

  #key(event) {
    const { model } = this;
    if (event.altKey) return;
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "a") this.select(model.order);
    else if (event.ctrlKey || event.metaKey) return;
    else if (event.key === " ") { if (model.current >= 0) this.toggle(model.current); }
    else if (event.key === "Escape") this.select([]);
    else {
      const page = this.list.columns * Math.max(1, Math.floor(this.box.clientHeight / this.list.height));
      const steps = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: this.list.columns, ArrowUp: -this.list.columns,
        PageDown: page, PageUp: -page, Home: -model.n, End: model.n };
      if (!(event.key in steps)) return;
      model.go(model.step(steps[event.key]));
    }
    event.preventDefault();
    event.stopPropagation();
  }
}
