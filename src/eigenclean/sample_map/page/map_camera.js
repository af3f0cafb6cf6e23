// Which part of the map is seen: positions from 0 to 1 become pixels of the page, and back.

const MARGIN = 14, MAX_ZOOM = 60;
const within = (value, low, high) => Math.min(high, Math.max(low, value));

export class Camera {
  constructor() {
    this.width = this.height = 1;
    this.reset();
  }

  // left and top are where the view begins on the enlarged map.
  reset() { this.zoom = 1; this.left = 0; this.top = 0; }

  resize(width, height) {
    this.left *= width / this.width;
    this.top *= height / this.height;
    this.width = width;
    this.height = height;
    this.#keepInside();
  }

  // Enlarges the map around a place of the view that stays where it is.
  zoomBy(factor, x = this.width / 2, y = this.height / 2) {
    const zoom = within(this.zoom * factor, 1, MAX_ZOOM), change = zoom / this.zoom;
    this.zoom = zoom;
    this.left = (this.left + x) * change - x;
    this.top = (this.top + y) * change - y;
    this.#keepInside();
    return change !== 1;
  }

  pan(right, down) {
    this.left += right;
    this.top += down;
    this.#keepInside();
  }

  // pixel = position * scale + shift
  transform() {
    const { zoom, width, height, left, top } = this;
    return {
      scaleX: zoom * Math.max(1, width - 2 * MARGIN), shiftX: zoom * MARGIN - left,
      scaleY: zoom * Math.max(1, height - 2 * MARGIN), shiftY: zoom * MARGIN - top,
    };
  }

  // The position of a pixel.
  position(x, y) {
    const { scaleX, shiftX, scaleY, shiftY } = this.transform();
    return [(x - shiftX) / scaleX, (y - shiftY) / scaleY];
  }

  #keepInside() {
    this.left = within(this.left, 0, this.width * (this.zoom - 1));
    this.top = within(this.top, 0, this.height * (this.zoom - 1));
  }
}
