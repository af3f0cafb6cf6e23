// What pointers, the wheel and keys mean on the map: move it, enlarge it, draw a lasso.

const STEP = 60, FACTOR = 1.4, STILL = 4, LASSO_STEP = 3; // pixels, but for the factor

const KEYS = {
  ArrowLeft: (map) => map.pan(-STEP, 0), ArrowRight: (map) => map.pan(STEP, 0),
  ArrowUp: (map) => map.pan(0, -STEP), ArrowDown: (map) => map.pan(0, STEP),
  "+": (map) => map.zoomBy(FACTOR), "=": (map) => map.zoomBy(FACTOR),
  "-": (map) => map.zoomBy(1 / FACTOR), _: (map) => map.zoomBy(1 / FACTOR), 0: (map) => map.showAll(),
  Enter: (map) => map.selectView(), Escape: (map) => map.clear(),
};

export function setUpGestures(canvas, map) {
  const pointers = new Map(); // by id, where each is
  let lasso = null, moved = 0;
  const place = (event) => { const box = canvas.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };

  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || !(event.key in KEYS)) return;
    event.preventDefault();
    KEYS[event.key](map);
    map.tellView();
  });
  canvas.addEventListener("wheel", (event) => {
    // A page that scrolls keeps the wheel until the map has the focus; a pinch on a touchpad arrives with Ctrl.
    if (map.scrolls && !event.ctrlKey && document.activeElement !== canvas) return;
    const lines = event.deltaMode === 1 ? 16 : 1;
    const changed = map.zoomBy(Math.exp(-Math.max(-240, Math.min(240, event.deltaY * lines)) * (event.ctrlKey ? 0.01 : 0.002)), ...place(event));
    if (changed || event.ctrlKey) event.preventDefault();
  }, { passive: false });

  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    canvas.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, place(event));
    map.hover(null);
    if (pointers.size === 1) moved = 0;
    lasso = pointers.size === 1 && (event.shiftKey || map.isLasso) ? [place(event)] : null;
    map.drawLasso(lasso);
  });
  canvas.addEventListener("pointermove", (event) => {
    const now = place(event), before = pointers.get(event.pointerId);
    if (!before) { map.hover(event.pointerType === "mouse" ? now : null); return; }
    moved += Math.hypot(now[0] - before[0], now[1] - before[1]);
    if (lasso !== null) {
      const last = lasso[lasso.length - 1];
      if (Math.hypot(now[0] - last[0], now[1] - last[1]) >= LASSO_STEP) lasso.push(now);
      map.drawLasso(lasso);
    } else if (pointers.size === 1) {
      map.pan(before[0] - now[0], before[1] - now[1]);
    } else if (pointers.size === 2) pinch(event.pointerId, before, now);
    pointers.set(event.pointerId, now);
  });
  const end = (event) => {
    const last = pointers.get(event.pointerId);
    if (!pointers.delete(event.pointerId) || pointers.size) return;
    const drawn = lasso;
    lasso = null;
    map.drawLasso(null);
    if (event.type === "pointercancel") return;
    if (drawn !== null && drawn.length > 2) map.selectLasso(drawn);
    else if (moved < STILL) map.pick(last);
  };
  for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, end);
  canvas.addEventListener("pointerleave", () => map.hover(null));

  // Two fingers: the map grows with their distance and moves with their middle.
  function pinch(id, before, now) {
    const [, other] = [...pointers].find(([key]) => key !== id);
    const distance = ([x, y]) => Math.max(8, Math.hypot(x - other[0], y - other[1]));
    map.pan((before[0] - now[0]) / 2, (before[1] - now[1]) / 2);
    map.zoomBy(distance(now) / distance(before), (now[0] + other[0]) / 2, (now[1] + other[1]) / 2);
  }
}
