// Files of what is shown: tables as TSV and Markdown, graphs as SVG and PNG. They are
// made here, from the same rows and boxes.
import { type Boxes, flameBoxes, type Order } from '../core/boxes';
import { atOnce, inSteps, type Steps } from '../core/steps';
import { percent, visible } from '../core/format';
import type { Nodes } from '../core/nodes';
import type { FunctionRow, Tree } from '../core/profile';
import { none } from '../core/table';
import { paint, type Scene } from '../flame/icicle';
import { Labels } from '../flame/label';
import { row, Sheet } from '../flame/sheet';
import { type Colouring, palette } from '../flame/palette';
import type { Item } from '../ui/Menu';
import { bucketsOf } from './Graph';

const mostRows = 100_000;

export function save(name: string, type: string, content: BlobPart): void {
  const url = URL.createObjectURL(new Blob([content], { type }));
  const a = document.createElement('a');
  a.href = url;
  a.download = name;
  a.click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

const file = (title: string) => title.replace(/[^\w.-]+/g, '-').replace(/^-+|-+$/g, '') || 'dendro';

/** The rows of a view: functions, or call nodes indented by their depth. */
function* cells(t: Tree, rows: FunctionRow[], nodes: Nodes, view: string, most: number): Steps<string[][]> {
  const head = t.isDiff
    ? ['function', 'base total', 'new total', 'base self', 'new self', 'file', 'module']
    : ['function', 'total', 'total %', 'self', 'self %', 'file', 'module'];
  const line = (depth: number, fn: number, total: number[], self: number[]): string[] => {
    const f = t.table.functions[fn]!;
    const share = (v: number) => percent(t.root[0] ? v / t.root[0]! : 0);
    const values = t.isDiff ? [...total, ...self].map(String) : [String(total[0]), share(total[0]!), String(self[0]), share(self[0]!)];
    return [`${'· '.repeat(depth)}${visible(f.name)}`, ...values, visible(f.file), visible(f.module)];
  };
  const list = [head];
  if (view === 'functions' || view === 'sandwich') {
    for (const r of rows) {
      if (list.length % 1024 === 0) yield;
      list.push(line(0, r.fn, r.total, r.self));
    }
  } else {
    const sides = t.self.map((_, s) => s);
    const pending = [...nodes.children(none)].reverse();
    while (pending.length > 0 && list.length < most) {
      if (list.length % 1024 === 0) yield;
      const n = pending.pop()!;
      list.push(
        line(
          nodes.depth(n),
          nodes.fn(n),
          sides.map(s => nodes.total(n, s)),
          sides.map(s => nodes.self(n, s)),
        ),
      );
      if (!nodes.inverted || nodes.depth(n) < 20) for (const c of [...nodes.children(n)].reverse()) pending.push(c);
    }
    if (pending.length > 0) list.push([`${most} rows; the rest is omitted`]);
  }
  return list;
}

/** Writes rows as TSV: tabs and newlines in names become blanks. */
export const tsv = (list: string[][]) => list.map(r => `${r.map(c => c.replace(/[\t\r\n]/g, ' ')).join('\t')}\n`).join('');

/** Writes rows as a table in Markdown: names are code, bars are escaped. */
export function markdown(list: string[][]): string {
  const cell = (c: string, i: number) => {
    const text = c.replace(/[\r\n]/g, ' ').replace(/\|/g, '\\|');
    if (i > 0 || !text) return text;
    const ticks = text.includes('`') ? '``' : '`';
    return `${ticks}${ticks.length > 1 ? ' ' : ''}${text}${ticks.length > 1 ? ' ' : ''}${ticks}`;
  };
  const [head, ...rows] = list;
  return [
    `| ${head!.join(' | ')} |`,
    `|${head!.map((_, i) => (i > 0 && i < 5 ? '---:' : '---')).join('|')}|`,
    ...rows.map(r => `| ${r.map(cell).join(' | ')} |`),
    '',
  ].join('\n');
}

export function tableItems(t: Tree, rows: FunctionRow[], nodes: Nodes, view: string, title: string): Item[] {
  return [
    {
      label: 'Table as TSV',
      run: () => void inSteps(cells(t, rows, nodes, view, mostRows)).then(list => save(`${file(title)}.tsv`, 'text/tab-separated-values', tsv(list))),
    },
    {
      label: 'Table as Markdown',
      hint: 'to the clipboard',
      run: () => void navigator.clipboard?.writeText(markdown(atOnce(cells(t, rows, nodes, view, 51)).slice(0, 51))),
    },
  ];
}

export function pictureItems(main: HTMLElement | null, nodes: Nodes, colouring: Colouring, view: string, title: string, order: Order): Item[] {
  if (!['icicle', 'flame', 'stack-chart', 'sandwich'].includes(view)) return [];
  const items: Item[] = [];
  if (view === 'icicle' || view === 'flame')
    items.push({
      label: 'Graph as SVG',
      run: () =>
        void inSteps(flameBoxes(nodes, { order })).then(boxes => save(`${file(title)}.svg`, 'image/svg+xml', svg(nodes, boxes, colouring, view === 'flame', title))),
    });
  items.push({
    label: 'Graph as PNG',
    hint: 'what is visible',
    run: () =>
      main?.querySelector<HTMLCanvasElement>('.flame canvas')?.toBlob(blob => {
        if (blob) save(`${file(title)}.png`, 'image/png', blob);
      }),
  });
  return items;
}

/** Draws all boxes that are at least half a pixel wide, in the colours of paper's light ground; texts can be selected, and boxes say their names. */
export function svg(nodes: Nodes, boxes: Boxes, colouring: Colouring, flipped: boolean, title: string): string {
  const { functions, categories } = nodes.tree.table;
  const colours = palette(
    colouring,
    false,
    categories.map(c => c.color),
  );
  const [width, height] = [1400, boxes.deepest * row];
  const sheet = new Sheet(width, height + head, colours, box => visible(functions[boxes.fn[box]!]!.name));
  sheet.text(visible(title), 6, -head / 2, 1);
  sheet.svg.setAttribute('viewBox', `0 ${-head} ${width} ${height + head}`);
  const scene: Scene = { boxes, of: nodes, functions, palette: colours, bucket: bucketsOf(nodes, boxes, colouring), found: null, flipped };
  paint(sheet, scene, { from: 0, to: 1, width, height, top: 0, flipped, rows: boxes.deepest }, new Labels(functions, text => 6.6 * text.length));
  return new XMLSerializer().serializeToString(sheet.svg);
}

const head = 26; // px, of the title
