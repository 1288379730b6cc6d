// Boxes as pixels: one line of pixels per row of boxes, which is stretched to the height of the rows. So
// what a frame costs depends on its rows, and little on the number of boxes.
import { coloursOf, type Palette } from './palette';

/** Rows of pixels. A box has all pixels whose middle it covers, and at least one. */
export class Raster {
  #pixels = new Uint32Array(0);
  #width = 0;
  #canvas: HTMLCanvasElement | undefined;

  /** Forgets what was drawn; width is in pixels. */
  clear(width: number, rows: number): void {
    if (this.#pixels.length === width * rows) this.#pixels.fill(0);
    else this.#pixels = new Uint32Array(width * rows);
    this.#width = width;
  }

  /** The colours of a row of pixels; 0 is empty. */
  row(row: number): Uint32Array {
    return this.#pixels.subarray(row * this.#width, (row + 1) * this.#width);
  }

  /** Fills a part of a row, in pixels; under: only where nothing is. */
  fill(row: number, from: number, to: number, colour: number, under?: boolean): void {
    const width = this.#width;
    const first = row * width + Math.min(width - 1, Math.round(from));
    const end = Math.min((row + 1) * width, Math.max(first + 1, row * width + Math.round(to)));
    if (end - first > 16 && !under) this.#pixels.fill(colour, first, end);
    else for (let i = first; i < end; i++) if (!under || !this.#pixels[i]) this.#pixels[i] = colour;
  }

  /** Draws the rows on a canvas in place of all that was there, in pixels. */
  draw(c: CanvasRenderingContext2D, y: number, height: number): void {
    const rows = this.#pixels.length / this.#width;
    if (!rows) return;
    const strip = (this.#canvas ??= document.createElement('canvas'));
    if (strip.width !== this.#width) strip.width = this.#width;
    if (strip.height !== rows) strip.height = rows;
    const bytes = new Uint8ClampedArray(this.#pixels.buffer as ArrayBuffer);
    strip.getContext('2d', { willReadFrequently: true })!.putImageData(new ImageData(bytes, this.#width, rows), 0, 0);
    c.save();
    c.setTransform(1, 0, 0, 1, 0, 0);
    c.imageSmoothingEnabled = false;
    c.globalCompositeOperation = 'copy'; // which costs less than clearing and blending
    c.drawImage(strip, 0, y, this.#width, height);
    c.restore();
  }
}

const known = new WeakMap<Palette, Uint32Array>();

/** The colours of a palette as pixels. */
export function pixelsOf(p: Palette): Uint32Array {
  let pixels = known.get(p);
  if (!pixels) {
    const colours = coloursOf(p);
    const c = document.createElement('canvas').getContext('2d')!;
    colours.forEach((colour, i) => {
      c.fillStyle = colour;
      c.fillRect(i, 0, 1, 1);
    });
    known.set(p, (pixels = new Uint32Array(c.getImageData(0, 0, colours.length, 1).data.buffer)));
  }
  return pixels;
}
