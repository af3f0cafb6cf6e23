// The points of the map in typed arrays, and which of them lie in a region. Suspects come first.

const STEPS = 65535; // of a position

export class MapPoints {
  constructor({ n_points: n, n_suspects: nSuspects, x, y, given }) {
    this.n = n;
    this.nSuspects = nSuspects;
    this.x = Float32Array.from(unpack(x, n), (step) => step / STEPS);
    this.y = Float32Array.from(unpack(y, n), (step) => 1 - step / STEPS); // on a screen y grows downwards
    this.given = unpack(given, n);
  }

  // 1 for each point in a box.
  inBox(left, top, right, bottom) {
    const { x, y } = this;
    return this.#marked((i) => x[i] >= left && x[i] <= right && y[i] >= top && y[i] <= bottom);
  }

  // 1 for each point inside a polygon, given as [[x, y], …]: a ray to the right crosses its sides an odd number of times.
  inPolygon(corners) {
    const { x, y } = this, n = corners.length;
    const xs = Float64Array.from(corners, ([at]) => at), ys = Float64Array.from(corners, ([, at]) => at);
    const left = Math.min(...xs), right = Math.max(...xs), top = Math.min(...ys), bottom = Math.max(...ys);
    return this.#marked((i) => {
      const px = x[i], py = y[i];
      if (px < left || px > right || py < top || py > bottom) return false;
      let inside = false;
      for (let a = 0, b = n - 1; a < n; b = a++) {
        if ((ys[a] > py) !== (ys[b] > py) && px < ((xs[b] - xs[a]) * (py - ys[a])) / (ys[b] - ys[a]) + xs[a]) inside = !inside;
      }
      return inside;
    });
  }

  // The point nearest to a place, by a distance in pixels; -1 when none is within reach. Of equals the worst suspect.
  nearest(distance, reach) {
    let best = -1, least = reach;
    for (let i = 0; i < this.n; i++) {
      const d = distance(this.x[i], this.y[i]);
      if (d < least) { least = d; best = i; }
    }
    return best;
  }

  // How many points are marked, and how many suspects.
  count(marks) {
    let points = 0, suspects = 0;
    for (let i = 0; i < this.n; i++) if (marks[i]) { points += 1; suspects += i < this.nSuspects; }
    return { points, suspects };
  }

  #marked(isInside) {
    const marks = new Uint8Array(this.n);
    for (let i = 0; i < this.n; i++) if (isInside(i)) marks[i] = 1;
    return marks;
  }
}

// Numbers of 1, 2 or 4 bytes each in base64, lowest byte first.
export function unpack(text, n) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const Kind = { 1: Uint8Array, 2: Uint16Array, 4: Uint32Array }[bytes.length / n];
  if (!Kind) throw new Error("the map cannot be read");
  return new Kind(bytes.buffer);
}
