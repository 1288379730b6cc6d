// A graph on paper is SVG: a canvas that is drawn while the page is being printed comes out empty, and
// what was drawn for a screen is coarse.

/** What the painter of boxes needs of a canvas. */
export type Pen = Pick<CanvasRenderingContext2D, 'fillStyle' | 'fillRect' | 'fillText' | 'font' | 'textBaseline' | 'globalAlpha'>;

const space = 'http://www.w3.org/2000/svg';

function element(name: string, attributes: Record<string, string | number>): SVGElement {
  const e = document.createElementNS(space, name);
  for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, typeof v === 'number' ? String(+v.toFixed(1)) : v);
  return e;
}

/** The fill of what became less, which without colours looks like nothing else. */
export const hatch = 'url(#hatch)';

export class Sheet implements Pen {
  fillStyle: CanvasRenderingContext2D['fillStyle'] = '';
  font = '';
  textBaseline: CanvasTextBaseline = 'middle';
  globalAlpha = 1;
  readonly svg: SVGElement;

  constructor(width: number, height: number) {
    this.svg = element('svg', { class: 'on-paper', width, height, viewBox: `0 0 ${width} ${height}`, 'aria-hidden': 'true' });
    const pattern = element('pattern', { id: 'hatch', width: 4, height: 4, patternUnits: 'userSpaceOnUse', patternTransform: 'rotate(45)' });
    pattern.append(element('rect', { width: 1.2, height: 4, fill: '#333' }));
    this.svg.append(pattern);
  }

  fillRect(x: number, y: number, width: number, height: number): void {
    this.svg.append(element('rect', { x, y, width, height, fill: String(this.fillStyle) }));
  }

  fillText(text: string, x: number, y: number): void {
    const e = element('text', { x, y, fill: String(this.fillStyle), 'dominant-baseline': 'central', opacity: this.globalAlpha });
    e.style.font = this.font; // as an attribute the policy of the server would refuse it
    e.textContent = text;
    this.svg.append(e);
  }
}
