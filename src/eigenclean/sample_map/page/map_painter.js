// Draws the points. A canvas needs some microseconds for each shape; writing the pixels of a small dot ourselves takes
// a fraction of that, with or without a graphics card, so that a hundred thousand points follow the pointer.

const PAD = 24; // pixels around the picture, so that dots at its border need no special care
const REACH = PAD / 2; // how far outside the picture the centre of a dot may be
const OPAQUE = 0xff << 24;
const RED_BLUE = 0xff00ff, GREEN = 0x00ff00;
const FULL = 128; // opacity in steps that keep products of colours below 2^31

export class Painter {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d", { alpha: false });
    this.image = null;
  }

  resize(width, height) {
    this.canvas.width = width;
    this.canvas.height = height;
    this.image = new ImageData(width + 2 * PAD, height + 2 * PAD);
    this.pixels = new Int32Array(this.image.data.buffer);
    this.discs = new Map();
  }

  // style: colours of the paper, of each class, of rings, of suspects (null: as their class); front: 1 for each point in
  // the foreground, null when all are.
  paint(points, camera, ratio, { paper, classes, ring, suspects, front }) {
    const { n, nSuspects } = points, radius = dotRadius(n, camera) * ratio;
    const centres = this.#centres(points, camera, ratio);
    this.pixels.fill(paper);
    for (const wanted of front === null ? [1] : [0, 1]) {
      const dot = this.#disc(radius, wanted ? 0.6 : 0.1), fill = this.#disc(1.25 * radius, wanted ? 1 : 0.14);
      const edge = wanted ? this.#disc(1.25 * radius + 1.1 * ratio, 1) : null;
      for (let i = n - 1; i >= 0; i--) {
        if (centres[i] === 0 || (front !== null && front[i] !== wanted)) continue;
        const colour = classes[points.given[i]];
        if (i >= nSuspects) stamp(this.pixels, centres[i], dot, colour);
        else {
          if (edge !== null) stamp(this.pixels, centres[i], edge, ring);
          stamp(this.pixels, centres[i], fill, suspects ?? colour);
        }
      }
    }
    this.context.putImageData(this.image, -PAD, -PAD);
  }

  // Where in the image each point is; 0 for those out of view.
  #centres({ n, x, y }, camera, ratio) {
    const { width, height } = this.canvas, stride = width + 2 * PAD, { scaleX, shiftX, scaleY, shiftY } = camera.transform();
    if (this.places?.length !== n) this.places = new Int32Array(n);
    for (let i = 0; i < n; i++) {
      const px = Math.round((x[i] * scaleX + shiftX) * ratio), py = Math.round((y[i] * scaleY + shiftY) * ratio);
      const isSeen = px >= -REACH && py >= -REACH && px < width + REACH && py < height + REACH;
      this.places[i] = isSeen ? (py + PAD) * stride + px + PAD : 0;
    }
    return this.places;
  }

  // The pixels of a disc with smooth edges, as distances from its centre in the image, and how much each covers.
  #disc(wanted, opacity) {
    const radius = Math.min(wanted, REACH - 2), key = `${radius.toFixed(2)} ${opacity}`;
    if (!this.discs.has(key)) {
      const stride = this.canvas.width + 2 * PAD, offsets = [], alphas = [], reach = Math.ceil(radius);
      for (let down = -reach; down <= reach; down++) {
        for (let right = -reach; right <= reach; right++) {
          const alpha = Math.round(FULL * opacity * Math.min(1, Math.max(0, radius + 0.5 - Math.hypot(down, right))));
          if (alpha > 0) { offsets.push(down * stride + right); alphas.push(alpha); }
        }
      }
      this.discs.set(key, { offsets: Int32Array.from(offsets), alphas: Int32Array.from(alphas) });
    }
    return this.discs.get(key);
  }
}

// Mixes a colour into the pixels of a disc: red and blue in one product, green in another.
function stamp(pixels, centre, { offsets, alphas }, colour) {
  const redBlue = colour & RED_BLUE, green = colour & GREEN;
  for (let k = 0; k < offsets.length; k++) {
    const at = centre + offsets[k], a = alphas[k], old = pixels[at];
    const mixedRedBlue = ((Math.imul(redBlue, a) + Math.imul(old & RED_BLUE, FULL - a)) >> 7) & RED_BLUE;
    const mixedGreen = ((Math.imul(green, a) + Math.imul(old & GREEN, FULL - a)) >> 7) & GREEN;
    pixels[at] = OPAQUE | mixedRedBlue | mixedGreen;
  }
}

// Dots are smaller where there are many in a small map, and grow when fewer of them are in view.
function dotRadius(n, { width, height, zoom }) {
  const room = (width * height * zoom * zoom) / Math.max(1, n); // pixels for each dot
  return Math.min(4.2, Math.max(1.1, 0.8 * room ** 0.25));
}

// "rgb(1, 2, 3)" as a pixel.
export function pixel(colour) {
  const [red, green, blue] = colour.match(/[\d.]+/g).map(Number);
  return OPAQUE | (blue << 16) | (green << 8) | red;
}
