// The map of the samples: a canvas with buttons, a lasso and a sentence about what is selected. It is drawn at most once
// per frame, however many events there are.
import { Camera } from "./map_camera.js";
import { MAX_COLOURS, buildControls, make, plural } from "./map_controls.js";
import { setUpGestures } from "./map_gestures.js";
import { Painter, pixel } from "./map_painter.js";
import { MapPoints } from "./map_points.js";

const REACH = 14; // pixels from the pointer to a point that it means

export class SampleMap {
  // labels: name by class code. describe(point): lines for the hint. onSelect(marks or null): a selection was made; it may
  // return a sentence. onPick(point): a suspect was clicked. scrolls: the page around the map scrolls.
  constructor(host, data, { labels, describe, onSelect, onPick, scrolls = false }) {
    this.points = new MapPoints(data);
    Object.assign(this, { host, labels, describe, onSelect, onPick, scrolls });
    this.camera = new Camera();
    this.selected = null;
    this.alone = -1; // the class that is seen alone
    this.current = -1; // a point with a mark around it
    this.isLasso = false;
    this.isPlanned = false;
    this.nCodes = this.points.given.reduce((most, code) => Math.max(most, code + 1), 0);
    Object.assign(this, buildControls(this)); // canvas, overlay, hint, status, probe, buttons
    this.painter = new Painter(this.canvas);
    setUpGestures(this.canvas, this);
    new ResizeObserver(() => this.#resize()).observe(this.canvas);
    const repaint = () => { this.palette = null; this.#paint(); }; // now, because a printer does not wait for a frame
    for (const query of ["(prefers-color-scheme: dark)", "print"]) matchMedia(query).addEventListener("change", repaint);
    new MutationObserver(repaint).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  }

  pan(right, down) { this.camera.pan(right, down); this.draw(); }
  zoomBy(factor, x, y) { const changed = this.camera.zoomBy(factor, x, y); this.draw(); return changed; }
  showAll() { this.camera.reset(); this.draw(); }
  selectLasso(corners) { this.select(this.points.inPolygon(corners.map(([x, y]) => this.camera.position(x, y)))); }
  selectView() { this.select(this.#inView()); }
  clear() { this.select(null); }
  showAlone(code) { this.alone = code; this.palette = null; this.draw(); } // -1: all classes

  setLasso(on) {
    this.isLasso = on;
    this.buttons.lasso.setAttribute("aria-pressed", String(on));
    this.host.classList.toggle("lassoing", on);
  }

  select(marks) {
    this.selected = marks;
    this.buttons.clear.disabled = marks === null;
    this.status.textContent = [marks === null ? "Nothing is selected." : `Selected: ${this.#counted(marks)}.`, this.onSelect?.(marks)].filter(Boolean).join(" ");
    this.draw();
  }

  // For those who do not see it: what is in view after a key.
  tellView() {
    clearTimeout(this.telling);
    this.telling = setTimeout(() => { if (this.selected === null) this.status.textContent = `In view: ${this.#counted(this.#inView())}.`; }, 250);
  }

  pick([x, y]) {
    const point = this.#at(x, y);
    if (point >= 0 && point < this.points.nSuspects) this.onPick?.(point);
  }

  hover(place) {
    const point = place === null ? -1 : this.#at(...place);
    this.hint.hidden = point < 0;
    if (point < 0) return;
    this.hint.replaceChildren(...this.describe(point).map((line) => make("span", {}, line)));
    const { scaleX, shiftX, scaleY, shiftY } = this.camera.transform();
    const x = this.points.x[point] * scaleX + shiftX, y = this.points.y[point] * scaleY + shiftY;
    this.hint.style.left = `${Math.min(x + 12, Math.max(0, this.camera.width - this.hint.offsetWidth - 6))}px`;
    this.hint.style.top = `${y + 12 + this.hint.offsetHeight > this.camera.height ? y - 12 - this.hint.offsetHeight : y + 12}px`;
  }

  drawLasso(corners) { this.lasso = corners; this.#drawOverlay(); }

  draw() {
    if (this.isPlanned) return;
    this.isPlanned = true;
    requestAnimationFrame(() => { this.isPlanned = false; this.#paint(); });
  }

  #paint() {
    if (!this.painter.image) return;
    this.palette ??= this.#readPalette();
    this.painter.paint(this.points, this.camera, this.ratio, { ...this.palette, front: this.#front() });
    this.hover(null);
    this.#drawOverlay();
  }

  // 1 for each point that the selection and the class leave; null when all are left.
  #front() {
    const { alone, selected } = this, { given } = this.points;
    if (alone < 0) return selected;
    return Uint8Array.from(given, (code, i) => Number(code === alone && (selected === null || selected[i] === 1)));
  }

  #drawOverlay() {
    const context = this.overlay.getContext("2d"), { ratio } = this;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, this.camera.width, this.camera.height);
    context.strokeStyle = this.palette?.line ?? "gray";
    context.lineWidth = 2;
    context.setLineDash([]);
    if (this.current >= 0 && this.current < this.points.n) {
      const { scaleX, shiftX, scaleY, shiftY } = this.camera.transform();
      context.beginPath();
      context.arc(this.points.x[this.current] * scaleX + shiftX, this.points.y[this.current] * scaleY + shiftY, 11, 0, 7);
      context.stroke();
    }
    if (!this.lasso) return;
    context.setLineDash([5, 4]);
    context.beginPath();
    for (const [x, y] of this.lasso) context.lineTo(x, y);
    context.closePath();
    context.stroke();
  }

  #resize() {
    const width = this.canvas.clientWidth, height = this.canvas.clientHeight;
    if (!width || !height) return;
    this.ratio = Math.min(2, devicePixelRatio || 1);
    this.camera.resize(width, height);
    for (const resize of [(w, h) => this.painter.resize(w, h), (w, h) => { this.overlay.width = w; this.overlay.height = h; }]) {
      resize(Math.round(width * this.ratio), Math.round(height * this.ratio));
    }
    this.#paint(); // now, because a canvas of another size is empty
  }

  // Colours come from the style sheet, for light and dark.
  #readPalette() {
    const read = (name) => { this.probe.className = `map-colour ${name}`; return getComputedStyle(this.probe).color; };
    const many = this.nCodes > MAX_COLOURS, soft = pixel(read("soft"));
    const classes = Int32Array.from({ length: this.nCodes }, (_, code) => (many || code >= MAX_COLOURS ? soft : pixel(read(`c${code}`))));
    if (many && this.alone >= 0) classes[this.alone] = pixel(read("keep"));
    const paper = pixel(read("paper")), ink = pixel(read("ink"));
    return { paper, classes, ring: many ? paper : ink, suspects: many ? pixel(read("flag")) : null, line: read("ink") };
  }

  #at(x, y) {
    const { scaleX, shiftX, scaleY, shiftY } = this.camera.transform();
    return this.points.nearest((px, py) => Math.hypot(px * scaleX + shiftX - x, py * scaleY + shiftY - y), REACH);
  }

  #inView() {
    const { camera } = this;
    return this.points.inBox(...camera.position(0, 0), ...camera.position(camera.width, camera.height));
  }

  #counted(marks) {
    const { points, suspects } = this.points.count(marks);
    return `${plural(points, "sample")}, ${plural(suspects, "suspect")} among them`;
  }
}
