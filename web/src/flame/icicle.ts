// The flame graph on a canvas. It draws only what is in the window and wide enough to
// see, so its cost depends on the window and not on the profile:
//
//   - boxes are in depth-first order; a box that is outside of the window skips all boxes
//     above it; of boxes that are too narrow, one per pixel and row is looked at and drawn in grey;
//   - the canvas is as large as the window and stays in it while an empty element scrolls;
//   - hover and selection are on a second canvas, so that they redraw no boxes;
//   - boxes are pixels in an array, one line of pixels per row, see Raster;
//   - labels degrade by meaning, see Labels.
import { type Boxes, extent } from '../core/boxes';
import { type Func, type Ints, none } from '../core/table';
import { Labels } from './label';
import type { Palette } from './palette';
import { pixelsOf, Raster } from './raster';
import { font, type Pen, row, Sheet } from './sheet';

const leastWidth = 0.5; // px
const mostRows = 150; // on paper: three sheets

export interface Window {
  /** The part of the width that is shown, of 0 to 1. */
  from: number;
  to: number;
  /** In px. */
  width: number;
  height: number;
  top: number;
  /** Roots are on the lowest row of rows. */
  flipped: boolean;
  rows: number;
}

/** The y of a depth in the window. */
export const yOf = (w: Window, depth: number) => (w.flipped ? w.rows - 1 - depth : depth) * row - w.top;

/** Calls draw for every box that is visible in the window, from left to right in each row. */
export function visit(
  b: Boxes,
  w: Window,
  draw: (box: number, x: number, y: number, width: number) => void,
  /**
   * Called for pixels of a row whose boxes are too narrow to draw, with the part of the window that the boxes
   * of this call take; only the outermost of them count, so that the parts add up.
   */
  narrow?: (x: number, y: number, part: number) => void,
): void {
  const scale = w.width / (w.to - w.from);
  const least = leastWidth / scale;
  const deepest = narrow && deepestOf(b);
  const next = new Float64Array(b.deepest + 2); // of each depth where the next box begins
  const drawn = new Int32Array(narrow ? b.deepest : 0).fill(-1); // of each depth the last pixel with narrow boxes
  let inside = 0; // the end of the outermost narrow box
  for (let i = 0; i < b.n; ) {
    const depth = b.depth[i]!;
    const from = b.start ? b.start[i]! : next[depth]!;
    const to = from + b.width[i]!;
    next[depth] = to;
    next[depth + 1] = from;
    const start = from / b.whole;
    const end = to / b.whole;
    const y = yOf(w, depth);
    if (end <= w.from || start >= w.to || (w.flipped ? y <= -row : y >= w.height)) {
      i = b.skip[i]!;
      continue;
    }
    if (end - start < least) {
      const outermost = i >= inside;
      if (outermost) inside = b.skip[i]!;
      if (!narrow || end === start) {
        i = b.skip[i]!;
        continue;
      }
      const x = Math.max(0, Math.floor((start - w.from) * scale));
      let d = depth;
      while (d <= deepest![i]! && drawn[d] === x) d++;
      const more = d <= deepest![i]!; // it reaches a row in which this pixel is empty
      const part = outermost ? (Math.min(end, w.to) - Math.max(start, w.from)) / (w.to - w.from) : 0;
      if (more || part > 0) narrow(x, y, part);
      drawn[depth] = x;
      i = more ? i + 1 : b.skip[i]!;
      continue;
    }
    if (y > -row && y < w.height) {
      const x = Math.max(0, (start - w.from) * scale);
      draw(i, x, y, Math.min(w.width, (end - w.from) * scale) - x);
    }
    i++;
  }
}

const depths = new WeakMap<Boxes, Ints>();

/** Of each box the depth of the deepest one in it. */
function deepestOf(b: Boxes): Ints {
  let deepest = depths.get(b);
  if (!deepest) {
    depths.set(b, (deepest = b.depth.slice() as Ints));
    for (let i = b.n - 1; i >= 0; i--) {
      const p = b.parent[i]!;
      if (p !== none && deepest[i]! > deepest[p]!) deepest[p] = deepest[i]!;
    }
  }
  return deepest;
}

/** The box at a depth and a place from 0 to 1, or none. */
export function boxAt(b: Boxes, depth: number, at: number): number {
  let found = none;
  const point = { from: at, to: at + Number.EPSILON, width: 1, height: (depth + 1) * row, top: 0, flipped: false, rows: 0 };
  visit(b, point, i => {
    if (b.depth[i] === depth) found = i;
  });
  return found;
}

/** What is drawn. */
export interface Scene {
  boxes: Boxes;
  /** What the boxes are of: the window stays where it is while this is the same. */
  of: object;
  functions: readonly Func[];
  palette: Palette;
  /** The colour of a box: an index of the palette's fills. */
  bucket: (box: number) => number;
  /** Of each function, whether a search finds it; null: there is no search. */
  found: Uint8Array | null;
  flipped: boolean;
}

export interface Handlers {
  hover: (box: number, x: number, y: number) => void;
  select: (box: number) => void;
  zoom: (box: number) => void;
  /** A menu was asked for at a point of the window: by the right button, or by the menu key for what is selected. */
  menu?: (box: number, x: number, y: number) => void;
  /** The part of the window, of 0 to 1, whose boxes are too narrow to draw, when it changes by more than a thousandth. */
  narrow?: (part: number) => void;
  /** The window was moved by hand or by an animation. */
  moved?: (from: number, to: number) => void;
  /** A part of the width was chosen by dragging; without it dragging moves the window. */
  range?: (from: number, to: number) => void;
}

export class Icicle {
  readonly #scroll: HTMLElement;
  readonly #sheet: HTMLElement;
  readonly #canvas: HTMLCanvasElement;
  readonly #over: HTMLCanvasElement;
  readonly #context: CanvasRenderingContext2D;
  readonly #overContext: CanvasRenderingContext2D;
  readonly #raster = new Raster();
  readonly #stop = new AbortController();
  readonly #watch: ResizeObserver | undefined;
  #scene: Scene | undefined;
  #labels: Labels | undefined;
  #from = 0;
  #to = 1;
  #zoomed = none;
  #selected = none;
  #hover = none;
  #narrow = 0;
  #drag: { x: number; from: number; to: number; moved: boolean } | undefined;
  #range: [number, number] | undefined;
  #frame = 0;
  #animation = 0;

  /** host is an empty element that scrolls; it gets the canvases. */
  constructor(
    host: HTMLElement,
    readonly handlers: Handlers,
  ) {
    this.#scroll = host;
    this.#sheet = document.createElement('div');
    const pin = document.createElement('div');
    this.#canvas = document.createElement('canvas');
    this.#over = document.createElement('canvas');
    pin.className = 'pin';
    this.#sheet.className = 'sheet';
    pin.append(this.#canvas, this.#over);
    this.#sheet.append(pin);
    host.append(this.#sheet);
    this.#context = this.#canvas.getContext('2d')!;
    this.#overContext = this.#over.getContext('2d')!;
    const on = <K extends keyof HTMLElementEventMap>(
      e: HTMLElement,
      type: K,
      run: (event: HTMLElementEventMap[K]) => void,
      options: AddEventListenerOptions = {},
    ) => e.addEventListener(type, run, { ...options, signal: this.#stop.signal });
    on(host, 'scroll', () => this.#draw(), { passive: true });
    on(this.#over, 'pointerdown', e => this.#down(e));
    on(this.#over, 'pointermove', e => this.#move(e));
    on(this.#over, 'pointerup', e => this.#up(e));
    on(this.#over, 'pointercancel', () => this.#endDrag());
    on(this.#over, 'pointerleave', () => this.#setHover(none, 0, 0));
    // The second click may find other boxes under the pointer: what the first one selected opens a panel.
    on(this.#over, 'dblclick', e => this.handlers.zoom(this.#selected === none ? this.#at(e) : this.#selected));
    on(host, 'contextmenu', e => this.#menu(e));
    on(host, 'wheel', e => this.#wheel(e), { passive: false });
    if (typeof ResizeObserver !== 'undefined') {
      this.#watch = new ResizeObserver(() => this.#draw());
      this.#watch.observe(host);
    }
  }

  destroy(): void {
    this.#stop.abort();
    this.#watch?.disconnect();
    cancelAnimationFrame(this.#frame);
    cancelAnimationFrame(this.#animation);
    this.#sheet.remove();
  }

  /** Draws other boxes, or the same in other colours. */
  show(scene: Scene): void {
    const other = this.#scene?.of !== scene.of;
    const turned = this.#scene?.flipped !== scene.flipped;
    if (this.#scene?.functions !== scene.functions || !this.#labels) {
      this.#labels = new Labels(scene.functions, text => {
        this.#context.font = font;
        return this.#context.measureText(text).width;
      });
    }
    if (this.#scene?.boxes !== scene.boxes) this.#hover = this.#selected = this.#zoomed = none;
    this.#scene = scene;
    if (other) {
      cancelAnimationFrame(this.#animation);
      this.#from = 0;
      this.#to = 1;
    }
    this.#size();
    if (other || turned) this.#scroll.scrollTop = scene.flipped ? this.#scroll.scrollHeight : 0;
    this.#draw();
  }

  /** Draws now what waits for the next frame, so that a graph comes with the page around it. */
  flush(): void {
    if (!this.#frame) return;
    cancelAnimationFrame(this.#frame);
    this.#render();
  }

  /** What the window shows, from the first row to the last, for paper: parts that a page can end after. */
  sheet(width: number): HTMLElement {
    const rows = Math.min(this.#scene!.boxes.deepest, mostRows);
    const height = 9 * row;
    const all = document.createElement('div');
    for (let top = 0; top < rows * row; top += height) {
      const sheet = new Sheet(width, height, this.#scene!.palette);
      paint(sheet, this.#scene!, { ...this.#window(), width, height, top, rows }, this.#labels!, this.#zoomed);
      all.append(sheet.svg);
    }
    return all;
  }

  /** Shows a box over the whole width; none: everything. */
  zoom(box: number, animate = true): void {
    const b = this.#scene?.boxes;
    if (!b) return;
    this.#zoomed = box;
    const [from, to] = box === none ? [0, 1] : extent(b, box);
    this.window(from, to, animate);
    this.#reveal(box === none ? 0 : b.depth[box]!);
  }

  /** Moves the window. */
  window(from: number, to: number, animate = false): void {
    cancelAnimationFrame(this.#animation);
    const a = [this.#from, this.#to] as const;
    const still = !animate || matchMedia('(prefers-reduced-motion: reduce)').matches;
    const begin = performance.now();
    const step = (now: number) => {
      const t = still ? 1 : Math.min(1, (now - begin) / 160);
      const k = 1 - (1 - t) ** 3;
      this.#from = a[0] + (from - a[0]) * k;
      this.#to = a[1] + (to - a[1]) * k;
      this.handlers.moved?.(this.#from, this.#to);
      this.#draw();
      if (t < 1) this.#animation = requestAnimationFrame(step);
    };
    step(begin);
  }

  /** Marks a box. */
  select(box: number, reveal = true): void {
    if (this.#selected === box) return;
    this.#selected = box;
    if (box !== none && reveal) this.#reveal(this.#scene!.boxes.depth[box]!);
    this.#draw();
  }

  /** The box beside, above or below another one, as drawn. */
  neighbour(box: number, key: string): number {
    const s = this.#scene!;
    const b = s.boxes;
    if (b.n === 0) return none;
    if (box === none) return this.#zoomed === none ? 0 : this.#zoomed;
    if (key === 'ArrowUp' || key === 'ArrowDown') {
      if ((key === 'ArrowUp') !== s.flipped) return b.parent[box] === none ? box : b.parent[box]!;
      let widest = box;
      for (let c = box + 1; c < b.skip[box]!; c = b.skip[c]!)
        if (widest === box || b.width[c]! > b.width[widest]!) widest = c;
      return widest;
    }
    let before = none;
    const parent = b.parent[box]!;
    for (let c = parent === none ? 0 : parent + 1, end = parent === none ? b.n : b.skip[parent]!; c < end; c = b.skip[c]!) {
      if (key === 'ArrowRight' && c > box) return c;
      if (c >= box) break;
      before = c;
    }
    return key === 'ArrowLeft' && before !== none ? before : box;
  }

  /** Where a box is in the window of the browser. */
  place(box: number): { x: number; y: number } {
    const r = this.#over.getBoundingClientRect();
    const w = this.#window();
    const b = this.#scene!.boxes;
    return { x: r.left + Math.max(0, ((extent(b, box)[0] - w.from) / (w.to - w.from)) * w.width), y: r.top + yOf(w, b.depth[box]!) };
  }

  #reveal(depth: number): void {
    const w = this.#window();
    const y = yOf(w, depth);
    const margin = 4 * row;
    if (y < margin) this.#scroll.scrollTop += y - margin;
    else if (y > w.height - row - margin) this.#scroll.scrollTop += y - (w.height - row - margin);
  }

  #window(): Window {
    const s = this.#scene!;
    const height = this.#scroll.clientHeight;
    return {
      from: this.#from,
      to: this.#to,
      width: this.#scroll.clientWidth,
      height,
      top: this.#scroll.scrollTop,
      flipped: s.flipped,
      rows: Math.max(s.boxes.deepest, Math.floor(height / row)),
    };
  }

  #size(): void {
    const s = this.#scene;
    if (!s) return;
    const w = this.#scroll.clientWidth;
    const h = this.#scroll.clientHeight;
    const ratio = devicePixelRatio || 1;
    this.#sheet.style.height = `${Math.max(s.boxes.deepest * row, h)}px`;
    for (const c of [this.#canvas, this.#over]) {
      if (c.width === Math.round(w * ratio) && c.height === Math.round(h * ratio)) continue;
      c.width = Math.round(w * ratio);
      c.height = Math.round(h * ratio);
      c.style.width = `${w}px`;
      c.style.height = `${h}px`;
    }
  }

  #draw(): void {
    if (this.#frame || !this.#scene) return;
    this.#frame = requestAnimationFrame(() => this.#render());
  }

  #render(): void {
    this.#frame = 0;
    if (this.#stop.signal.aborted) return;
    this.#size();
    this.#paint();
    this.#paintOver();
  }

  #paint(): void {
    const s = this.#scene!;
    const c = this.#context;
    const w = this.#window();
    const pen = new Screen(c, this.#raster, w, s.palette);
    const part = Math.round(paint(pen, s, w, this.#labels!, this.#zoomed) * 1000) / 1000;
    if (part !== this.#narrow) this.handlers.narrow?.((this.#narrow = part));
  }

  #paintOver(): void {
    const s = this.#scene!;
    const b = s.boxes;
    const c = this.#overContext;
    const w = this.#window();
    const ratio = devicePixelRatio || 1;
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.clearRect(0, 0, c.canvas.width, c.canvas.height);
    c.strokeStyle = s.palette.ink;
    const frame = (thick: number, x: number, y: number, width: number) => {
      c.lineWidth = thick;
      c.strokeRect(x + thick / 2, y + thick / 2, Math.max(3, width) - thick - 0.5, row - thick - 1);
    };
    const outline = (box: number, thick: number) => {
      const scale = w.width / (w.to - w.from);
      const [start, end] = extent(b, box);
      const x = Math.max(0, (start - w.from) * scale);
      frame(thick, x, yOf(w, b.depth[box]!), Math.min(w.width, (end - w.from) * scale) - x);
    };
    if (this.#selected !== none) {
      const fn = b.fn[this.#selected]!;
      c.globalAlpha = 0.45;
      visit(b, w, (i, x, y, width) => {
        if (b.fn[i] === fn && width > 2) frame(1, x, y, width);
      });
      c.globalAlpha = 1;
      outline(this.#selected, 2);
    }
    if (this.#hover !== none && this.#hover !== this.#selected) outline(this.#hover, 1);
    if (this.#range) {
      const [x, y] = this.#range.map(v => ((v - w.from) / (w.to - w.from)) * w.width) as [number, number];
      c.globalAlpha = 0.18;
      c.fillStyle = s.palette.ink;
      c.fillRect(x, 0, y - x, w.height);
      c.globalAlpha = 1;
    }
  }

  #xOf(e: MouseEvent): number {
    const r = this.#over.getBoundingClientRect();
    return this.#from + ((e.clientX - r.left) / r.width) * (this.#to - this.#from);
  }

  #at(e: MouseEvent): number {
    if (!this.#scene) return none;
    const w = this.#window();
    const line = Math.floor((e.clientY - this.#over.getBoundingClientRect().top + w.top) / row);
    return boxAt(this.#scene.boxes, w.flipped ? w.rows - 1 - line : line, this.#xOf(e));
  }

  #setHover(box: number, x: number, y: number): void {
    if (box !== this.#hover) {
      this.#hover = box;
      this.#over.style.cursor = box === none ? '' : 'pointer';
      if (this.#scene) this.#paintOver();
    }
    this.handlers.hover(box, x, y);
  }

  #down(e: PointerEvent): void {
    if (e.button !== 0) return;
    this.#drag = { x: e.clientX, from: this.#from, to: this.#to, moved: false };
    if (e.pointerType === 'mouse') this.#over.setPointerCapture(e.pointerId);
  }

  #move(e: PointerEvent): void {
    const d = this.#drag;
    if (!d) {
      if (e.pointerType === 'mouse') this.#setHover(this.#at(e), e.clientX, e.clientY); // a finger hides what it touches
      return;
    }
    if (!d.moved && Math.abs(e.clientX - d.x) < 4) return;
    d.moved = true;
    this.#setHover(none, 0, 0);
    if (this.handlers.range) {
      const left = this.#over.getBoundingClientRect().left;
      const at = (x: number) => this.#from + ((x - left) / this.#over.clientWidth) * (this.#to - this.#from);
      const ends = [at(d.x), at(e.clientX)].sort((a, b) => a - b);
      this.#range = [Math.max(0, ends[0]!), Math.min(1, ends[1]!)];
      this.#paintOver();
      return;
    }
    const width = d.to - d.from;
    const from = Math.max(0, Math.min(1 - width, d.from - ((e.clientX - d.x) / this.#over.clientWidth) * width));
    if (width < 1) this.window(from, from + width);
  }

  #up(e: PointerEvent): void {
    const d = this.#drag;
    const range = this.#range;
    this.#endDrag();
    if (range) this.handlers.range?.(...range);
    else if (d && !d.moved) {
      const box = this.#at(e);
      if (box === none || e.detail > 1) return;
      if (e.pointerType === 'touch' && box === this.#selected) this.handlers.zoom(box); // a second tap
      else this.handlers.select(box);
    }
  }

  #menu(e: MouseEvent): void {
    if (!this.handlers.menu || !this.#scene) return;
    const pointed = e.target === this.#over && e.button === 2;
    const box = pointed ? this.#at(e) : this.#selected;
    if (box === none) return;
    e.preventDefault();
    const { x, y } = pointed ? { x: e.clientX, y: e.clientY } : this.place(box);
    this.handlers.menu(box, x, pointed ? y : y + row);
  }

  #endDrag(): void {
    this.#drag = undefined;
    this.#range = undefined;
    if (this.#scene) this.#paintOver();
  }

  #wheel(e: WheelEvent): void {
    if (!e.ctrlKey && !e.metaKey) {
      if (!e.shiftKey && Math.abs(e.deltaX) <= Math.abs(e.deltaY)) return; // scrolls
      const width = this.#to - this.#from;
      const from = Math.max(0, Math.min(1 - width, this.#from + ((e.deltaX || e.deltaY) / this.#over.clientWidth) * width));
      this.window(from, from + width);
    } else {
      const at = this.#xOf(e);
      const width = Math.min(1, Math.max(1e-7, (this.#to - this.#from) * 1.0025 ** e.deltaY));
      const from = Math.max(0, Math.min(1 - width, at - ((at - this.#from) / (this.#to - this.#from)) * width));
      this.window(from, from + width);
    }
    e.preventDefault();
  }
}

/** Draws a window on a canvas. */
class Screen implements Pen {
  readonly #ratio = devicePixelRatio || 1;
  readonly #colours: Uint32Array;
  /** The y of the first row that is seen. */
  readonly #top: number;

  constructor(
    readonly context: CanvasRenderingContext2D,
    readonly raster: Raster,
    readonly window: Window,
    palette: Palette,
  ) {
    this.#colours = pixelsOf(palette);
    this.#top = -(window.top % row);
    raster.clear(Math.round(window.width * this.#ratio), Math.ceil((window.height - this.#top) / row));
    context.setTransform(this.#ratio, 0, 0, this.#ratio, 0, 0);
    context.font = font;
    context.textBaseline = 'middle';
    context.fillStyle = palette.ink;
  }

  box(x: number, y: number, width: number, colour: number, under?: boolean): void {
    const ratio = this.#ratio;
    this.raster.fill(Math.round((y - this.#top) / row), x * ratio, (x + width) * ratio, this.#colours[colour]!, under);
  }

  boxed(): void {
    const { context: c, window: w } = this;
    const rows = Math.ceil((w.height - this.#top) / row);
    this.raster.draw(c, this.#top * this.#ratio, rows * row * this.#ratio);
    for (let y = this.#top + row - 1; y < w.height; y += row) c.clearRect(0, y, w.width, 1);
  }

  text(text: string, x: number, y: number, opacity: number): void {
    this.context.globalAlpha = opacity;
    this.context.fillText(text, x, y);
  }
}

/** Draws the boxes of a window, and grey where they are too narrow; returns the part of the window, of 0 to 1, that is grey. */
export function paint(pen: Pen, s: Scene, w: Window, labels: Labels, zoomed = none): number {
  const b = s.boxes;
  const hit = s.palette.fills.length; // see coloursOf
  const hits: number[] = []; // over what shares a pixel with them
  const texts: number[] = [];
  const lastPixel = new Map<number, number>(); // of each row: narrow boxes share a pixel
  const base = zoomed === none ? -1 : b.depth[zoomed]!;
  const grey = new Map<number, [from: number, to: number]>(); // of each row the last pixels without a box
  let greyPart = 0;
  const flush = (y: number, [from, to]: [number, number]) => pen.box(from, y, to - from, hit + 2, true);
  visit(
    b,
    w,
    (i, x, y, width) => {
      const isHit = s.found !== null && s.found[b.fn[i]!] === 1;
      if (width < 1) {
        const pixel = Math.floor(x);
        if (lastPixel.get(y) === pixel && !isHit) return;
        lastPixel.set(y, pixel);
      }
      const shown = width > 3 ? width - 1 : Math.max(width, 0.6);
      if (isHit) hits.push(x, y, shown);
      else pen.box(x, y, shown, s.found ? hit + 1 : s.bucket(i), false, i);
      if (width > 24) texts.push(i, x, y, width);
    },
    (x, y, part) => {
      greyPart += part;
      if (y <= -row) return;
      const run = grey.get(y);
      if (run && x <= run[1]) run[1] = x + 1;
      else {
        if (run) flush(y, run);
        grey.set(y, [x, x + 1]);
      }
    },
  );
  for (const [y, run] of grey) flush(y, run);
  for (let k = 0; k < hits.length; k += 3) pen.box(hits[k]!, hits[k + 1]!, hits[k + 2]!, hit);
  pen.boxed();
  for (let k = 0; k < texts.length; k += 4) {
    const text = labels.fit(b.fn[texts[k]!]!, texts[k + 3]! - 9);
    if (text) pen.text(text, texts[k + 1]! + 5, texts[k + 2]! + row / 2, b.depth[texts[k]!]! < base ? 0.6 : 1);
  }
  return greyPart;
}

/** Draws all boxes small, for the overview, on a canvas whose unit is a pixel. */
export function paintOverview(c: CanvasRenderingContext2D, s: Scene, width: number, height: number, rowHeight: number): void {
  const b = s.boxes;
  const rows = b.deepest;
  const line = Math.min(rowHeight, height / Math.max(1, rows));
  const colours = pixelsOf(s.palette);
  const hit = s.palette.fills.length;
  const raster = new Raster();
  raster.clear(width, rows);
  visit(b, { from: 0, to: 1, width, height: rows * row, top: 0, flipped: s.flipped, rows }, (i, x, y, w) => {
    if (w < 1) return;
    const colour = s.found ? hit + 1 - s.found[b.fn[i]!]! : s.bucket(i);
    raster.fill(y / row, x, x + w - (w > 2 ? 1 : 0), colours[colour]!);
  });
  raster.draw(c, s.flipped ? height - rows * line : 0, rows * line);
}
