// A virtual list: only the visible elements exist, so that a hundred thousand suspects scroll like ten.

export class VirtualList {
  // fill(element, item, place) draws an element; size() returns { width, height } of a cell, width 0 for a whole line.
  constructor(box, { order, size, fill, prefix }) {
    Object.assign(this, { box, order, size, fill, prefix });
    this.space = document.createElement("div");
    this.space.className = "space";
    this.space.setAttribute("role", "presentation");
    box.append(this.space);
    this.cells = new Map();
    this.pending = false;
    box.addEventListener("scroll", () => this.drawSoon(), { passive: true });
    new ResizeObserver(() => { this.measure(); this.draw(true); }).observe(box);
    this.measure();
  }

  measure() {
    const { width, height } = this.size();
    this.height = height;
    this.columns = width ? Math.max(1, Math.floor(this.box.clientWidth / width)) : 1;
  }

  drawSoon() {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => { this.pending = false; this.draw(false); });
  }

  // redraw: every visible element is drawn again, not only the new ones.
  draw(redraw) {
    const order = this.order();
    const lines = Math.ceil(order.length / this.columns);
    this.space.style.height = `${lines * this.height}px`;
    const visible = this.box.clientHeight;
    if (!visible) return;
    const first = Math.max(0, Math.floor(this.box.scrollTop / this.height) - 2);
    const last = Math.min(lines, Math.ceil((this.box.scrollTop + visible) / this.height) + 2);
    const from = first * this.columns, to = Math.min(order.length, last * this.columns);
    const wanted = new Set(order.subarray(from, to));
    for (const [item, element] of this.cells) {
      if (!wanted.has(item)) { element.remove(); this.cells.delete(item); }
    }
    for (let place = from; place < to; place++) {
      const item = order[place];
      let element = this.cells.get(item);
      const isNew = element === undefined;
      if (isNew) {
        element = document.createElement("div");
        element.setAttribute("role", "option");
        element.id = `${this.prefix}-${item}`;
        element.dataset.item = item;
        this.cells.set(item, element);
        this.space.append(element);
      }
      element.style.transform = `translateY(${Math.floor(place / this.columns) * this.height}px)`;
      element.style.left = `${(100 / this.columns) * (place % this.columns)}%`;
      element.style.width = `${100 / this.columns}%`;
      element.style.height = `${this.height}px`;
      element.setAttribute("aria-setsize", order.length);
      element.setAttribute("aria-posinset", place + 1);
      if (isNew || redraw) this.fill(element, item, place);
    }
  }

  reveal(place) {
    if (place < 0) return;
    const top = Math.floor(place / this.columns) * this.height;
    const visible = this.box.clientHeight;
    if (top < this.box.scrollTop) this.box.scrollTop = top;
    else if (top + this.height > this.box.scrollTop + visible) this.box.scrollTop = top + this.height - visible;
  }

  itemAt(event) {
    const element = event.target.closest("[data-item]");
    return element && this.space.contains(element) ? Number(element.dataset.item) : null;
  }
}
