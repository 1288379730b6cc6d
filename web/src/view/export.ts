// Files of what is shown: tables as TSV and Markdown, graphs as SVG and PNG. They are
// made here, from the same rows and boxes.
import { type Boxes, flameBoxes, type Order } from '../core/boxes';
import { atOnce, inSteps, type Steps } from '../core/steps';
import { percent, visible } from '../core/format';
import type { Nodes } from '../core/nodes';
import type { FunctionRow, Tree } from '../core/profile';
import { dark } from '../core/settings';
import { none } from '../core/table';
import { visit } from '../flame/icicle';
import { row } from '../flame/sheet';
import { forms } from '../flame/label';
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

const xml = (s: string) => visible(s).replace(/[&<>"]/g, c => `&#${c.charCodeAt(0)};`);

/** Draws all boxes that are at least half a pixel wide; labels are text that can be selected. */
export function svg(nodes: Nodes, b: Boxes, colouring: Colouring, flipped: boolean, title: string): string {
  const width = 1400;
  const head = 26;
  const height = head + b.deepest * row + 4;
  const t = nodes.tree;
  const p = palette(
    colouring,
    dark.value,
    t.table.categories.map(c => c.color),
  );
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="system-ui, sans-serif" font-size="12">`,
    `<rect width="100%" height="100%" fill="${dark.value ? '#14171b' : '#fff'}"/><text x="6" y="17" fill="${p.ink}">${xml(title)}</text>`,
  ];
  const bucket = bucketsOf(nodes, b, colouring);
  let omitted = b.n;
  visit(b, { from: 0, to: 1, width, height: b.deepest * row, top: 0, flipped, rows: b.deepest }, (i, left, top, w) => {
    omitted--;
    const f = t.table.functions[b.fn[i]!]!;
    const x = left.toFixed(1);
    const y = head + top;
    const text =
      w > 24
        ? (forms(f).find(s => s.length * 6.6 < w - 8) ??
          `${forms(f)
            .at(-1)!
            .slice(0, Math.max(1, Math.floor((w - 14) / 6.6)))}…`)
        : '';
    parts.push(
      `<g><title>${xml(f.name)}</title><rect x="${x}" y="${y}" width="${Math.max(0.3, w - 0.5).toFixed(1)}" height="${row - 1}" fill="${p.fills[bucket(i)]}"/>${text ? `<text x="${(+x + 4).toFixed(1)}" y="${y + 13}" fill="${p.ink}">${xml(text)}</text>` : ''}</g>`,
    );
  });
  if (omitted > 0) parts.push(`<!-- ${omitted} boxes below half a pixel are omitted -->`);
  return `${parts.join('\n')}\n</svg>\n`;
}
