// A graph on paper is SVG: a canvas that is drawn while the page is being printed comes out empty, and
// what was drawn for a screen is coarse.
import { coloursOf, type Palette } from './palette';

/** The height of a row of boxes, with the gap below them. */
export const row = 19;
export const font = '12px Inter, system-ui, "Segoe UI", Roboto, sans-serif';

/** What boxes are drawn with. */
export interface Pen {
  /** Draws a box, over or under all others; colour is a place in the colours of the palette, box its number. */
  box(x: number, y: number, width: number, colour: number, under?: boolean, box?: number): void;
  /** All boxes were drawn; their texts follow. */
  boxed(): void;
  text(text: string, x: number, y: number, opacity: number): void;
}

const space = 'http://www.w3.org/2000/svg';

function element(name: string, attributes: Record<string, string | number>, text = ''): SVGElement {
  const e = document.createElementNS(space, name);
  e.textContent = text;
  for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, typeof v === 'number' ? String(+v.toFixed(1)) : v);
  return e;
}

export class Sheet implements Pen {
  readonly svg: SVGElement;
  readonly #colours: string[];

  constructor(
    width: number,
    height: number,
    readonly palette: Palette,
    /** What a box says under the pointer. */
    readonly title?: (box: number) => string,
  ) {
    this.#colours = coloursOf(palette);
    this.svg = element('svg', { class: 'on-paper', width, height, viewBox: `0 0 ${width} ${height}`, 'aria-hidden': 'true' });
    const pattern = element('pattern', { id: 'hatch', width: 4, height: 4, patternUnits: 'userSpaceOnUse', patternTransform: 'rotate(45)' });
    pattern.append(element('rect', { width: 1.2, height: 4, fill: '#333' }));
    this.svg.append(pattern);
  }

  box(x: number, y: number, width: number, colour: number, under?: boolean, box?: number): void {
    const e = element('rect', { x, y, width, height: row - 1, fill: this.#colours[colour]! });
    if (this.title && box !== undefined) e.append(element('title', {}, this.title(box)));
    this.svg[under ? 'prepend' : 'append'](e);
  }

  boxed(): void {}

  text(text: string, x: number, y: number, opacity: number): void {
    const e = element('text', { x, y, fill: this.palette.ink, 'dominant-baseline': 'central', opacity }, text);
    e.style.font = font; // as an attribute the policy of the server would refuse it
    this.svg.append(e);
  }
}
