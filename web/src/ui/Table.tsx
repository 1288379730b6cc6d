// A table of any length: only the visible rows are in the document. Rows are 24 px high.
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { counted } from '../core/format';
import { paper } from '../core/settings';
import { Plain } from './Plain';

export interface Column {
  id: string;
  title: string;
  /** Explains the column. */
  hint?: string;
  /** In px; the column without one takes the rest, at least 160. */
  width?: number;
  /** The text of a cell: the column takes no more than the longest needs, and no more than its width. */
  text?: (row: number) => string;
  /** Of a column without a width: columns that are optional from `spare` on make room until it has so many px. */
  wanted?: number;
  numeric?: boolean;
  sortable?: boolean;
  /** It is left out where the columns do not fit; those with larger numbers first. */
  optional?: number;
  /** The part of the cell that a bar behind the text fills, from 0 to 1. */
  bar?: (row: number) => number;
  cell: (row: number) => ComponentChildren;
  class?: (row: number) => string;
}

/** The order of the rows of a table: a click on a column has the largest first, on those with texts the first letter. */
export function useSort(id: string, texts: readonly string[], descending = !texts.includes(id)) {
  const [sort, set] = useState({ id, descending });
  return { sort, onSort: (id: string) => set(s => ({ id, descending: s.id === id ? !s.descending : !texts.includes(id) })) };
}

/** Sorts rows by a key, in place; those with the same key stay as they were. */
export const sortBy = <R,>(rows: R[], key: (row: R) => string | number, descending: boolean): R[] => {
  const sign = descending ? -1 : 1;
  return rows.sort((a, b) => (key(a) < key(b) ? -sign : key(a) > key(b) ? sign : 0));
};

interface Props {
  label: string;
  rows: number;
  columns: Column[];
  /** What identifies a row, where rows are reordered. */
  rowKey?: (row: number) => string | number;
  sort?: { id: string; descending: boolean };
  onSort?: (id: string) => void;
  /** The selected row; -1: none. The table scrolls to it when it changes. */
  selected?: number;
  onSelect?: (row: number) => void;
  /** Enter or a double click. */
  onOpen?: (row: number) => void;
  onHover?: (row: number, event?: MouseEvent) => void;
  /** The right button, or the menu key on the selected row; at a point of the window. */
  onMenu?: ((row: number, x: number, y: number) => void) | undefined;
  /** It is as high as its rows, up to what a window shows, with a border around it. */
  fitted?: boolean;
  rowClass?: (row: number) => string;
  /** Makes a treegrid: the attributes of a row, and its left and right keys. */
  tree?: {
    depth: (row: number) => number;
    expanded: (row: number) => boolean | undefined;
    toggle: (row: number, open: boolean) => boolean;
    parent: (row: number) => number;
  };
  empty?: ComponentChildren;
}

/** The cell of a row of a tree: indented, with what opens and closes it; a leaf is neither open nor closed. */
export const Node = ({ depth, open, toggle, children }: { depth: number; open: boolean | undefined; toggle: () => void; children: ComponentChildren }) => (
  <span class="node" style={{ '--depth': Math.min(depth, 60) }}>
    <button type="button" tabIndex={-1} class="twist" disabled={open === undefined} aria-label={open ? 'close' : 'open'} onClick={e => (e.stopPropagation(), toggle())}>
      {open === undefined ? '' : open ? '▾' : '▸'}
    </button>
    {children}
  </span>
);

export const rowHeight = 24;
const headHeight = 30;

const leastWidth = (columns: readonly Column[]): number => columns.reduce((sum, c) => sum + (c.width ?? 160), 0);
/** From which number on optional columns are left out for what another wants, not only for what it needs. */
const spare = 5;
const wantedWidth = (columns: readonly Column[]): number => columns.reduce((sum, c) => sum + (c.width ?? c.wanted ?? 160), 0);

/** Leaves out optional columns until the rest fits; 0 is a width that is not known yet. */
export function fitting(columns: readonly Column[], width: number): readonly Column[] {
  let list = columns;
  while (width > 0 && wantedWidth(list) > width) {
    const drop = Math.max(...list.map(c => c.optional ?? 0));
    if (drop === 0 || (drop < spare && leastWidth(list) <= width)) break;
    list = list.filter(c => c.optional !== drop);
  }
  return list;
}

/** Columns that say their texts take what the longest needs: a width is then the most, and 160 px the least of a column without one. */
export function sized(columns: readonly Column[], rows: number): Column[] {
  return columns.map(c => {
    if (!c.text) return c;
    let longest = c.title.length + (c.sortable ? 2 : 0); // an arrow
    for (let i = 0; i < Math.min(rows, manyRows); i++) longest = Math.max(longest, c.text(i).length);
    const needed = Math.ceil(longest * charWidth) + 22;
    return c.width ? { ...c, width: Math.min(c.width, needed) } : { ...c, wanted: Math.max(160, needed) };
  });
}

/** How columns share the width of their table: beside columns that say their texts the end of the rows stays empty. */
export function templateOf(columns: readonly Column[]): string {
  const all = columns.map(c => (c.width ? `${c.width}px` : `minmax(160px, ${c.text ? `${c.wanted}px` : '1fr'})`));
  return [...all, ...(columns.every(c => c.width || c.text) ? ['minmax(0, 1fr)'] : [])].join(' ');
}

/** The columns as a phone has them, which scrolls to the others: what makes room first comes last. */
export const ranked = (columns: readonly Column[]): Column[] =>
  [...columns].sort((a, b) => (a.optional ?? 0) - (b.optional ?? 0)).map(c => (c.width ? c : { ...c, width: Math.min(c.wanted ?? 160, 260) }));

const phone = 700; // px, as in the style sheet
const charWidth = 7.9; // of 13 px digits, a little more than of most text
const manyRows = 1000; // of which the longest text decides

export function Table(p: Props) {
  const ref = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 600, width: 0, left: 0 });
  useLayoutEffect(() => {
    const e = ref.current!;
    const read = () =>
      setView(v => {
        const now = { top: e.scrollTop, height: e.clientHeight, width: e.clientWidth, left: e.scrollLeft };
        return v.top === now.top && v.height === now.height && v.width === now.width && v.left === now.left ? v : now;
      });
    read();
    e.addEventListener('scroll', read, { passive: true });
    const watch = typeof ResizeObserver === 'undefined' ? undefined : new ResizeObserver(read);
    watch?.observe(e);
    return () => {
      e.removeEventListener('scroll', read);
      watch?.disconnect();
    };
  }, []);
  const selected = p.selected ?? -1;
  useLayoutEffect(() => {
    const e = ref.current!;
    if (selected < 0) return;
    const y = selected * rowHeight;
    const room = e.clientHeight - headHeight - rowHeight;
    if (y < e.scrollTop) e.scrollTop = y;
    else if (room > 0 && y > e.scrollTop + room) e.scrollTop = y - room;
  }, [selected, p.rows]);
  const from = Math.max(0, Math.floor(view.top / rowHeight) - 6);
  const to = Math.min(p.rows, Math.ceil((view.top + view.height) / rowHeight) + 6);
  const all = sized(p.columns, p.rows);
  const columns = innerWidth <= phone ? ranked(all) : fitting(all, view.width);
  const template = templateOf(columns);
  const least = leastWidth(columns);
  const key = (e: KeyboardEvent) => {
    const page = Math.max(1, Math.floor(view.height / rowHeight) - 2);
    const at = (row: number) => {
      const next = Math.max(0, Math.min(p.rows - 1, row));
      if (next !== selected && p.rows > 0) p.onSelect?.(next);
      return true;
    };
    const moves: Record<string, () => boolean | undefined> = {
      ArrowDown: () => at(selected + 1),
      ArrowUp: () => at(selected - 1),
      PageDown: () => at(selected + page),
      PageUp: () => at(selected - page),
      Home: () => at(0),
      End: () => at(p.rows - 1),
      Enter: () => (selected >= 0 && p.onOpen ? (p.onOpen(selected), true) : false),
      ArrowRight: () => selected >= 0 && p.tree && (p.tree.toggle(selected, true) || at(selected + 1)),
      ArrowLeft: () => selected >= 0 && p.tree && (p.tree.toggle(selected, false) || at(p.tree.parent(selected))),
    };
    if (p.onMenu && selected >= 0 && (e.key === 'ContextMenu' || (e.key === 'F10' && e.shiftKey))) {
      const box = document.getElementById(rowId(p.label, selected))?.getBoundingClientRect();
      if (box) p.onMenu(selected, box.left + 40, box.bottom);
      e.preventDefault();
      e.stopPropagation();
      return;
    }
    if (e.ctrlKey || e.metaKey || e.altKey || !moves[e.key]?.()) return;
    e.preventDefault();
    e.stopPropagation();
  };
  const rows = [];
  for (let row = from; row < to; row++) {
    const open = p.tree?.expanded(row);
    rows.push(
      <div
        key={p.rowKey?.(row) ?? row}
        id={rowId(p.label, row)}
        role="row"
        aria-rowindex={row + 2}
        aria-selected={p.onSelect ? row === selected : undefined}
        aria-level={p.tree ? p.tree.depth(row) + 1 : undefined}
        aria-expanded={open}
        class={`tr ${row === selected ? 'selected' : ''} ${p.rowClass?.(row) ?? ''}`}
        style={{ gridTemplateColumns: template, top: `${row * rowHeight}px` }}
        onClick={() => p.onSelect?.(row)}
        onDblClick={() => p.onOpen?.(row)}
        onMouseMove={p.onHover && (e => p.onHover!(row, e))}
        onContextMenu={p.onMenu && (e => (e.preventDefault(), p.onMenu!(row, e.clientX, e.clientY)))}
      >
        {columns.map(c => (
          <div
            key={c.id}
            role="gridcell"
            class={`${c.numeric ? 'num' : ''} ${c.bar ? 'cellbar' : ''} ${c.class?.(row) ?? ''}`}
            style={c.bar && { '--share': `${100 * Math.max(0, Math.min(1, c.bar(row)))}%` }}
          >
            {c.cell(row)}
          </div>
        ))}
      </div>,
    );
  }
  const table = (
    <div
      ref={ref}
      class={view.width > 0 && view.left + view.width < least - 1 ? 'table cut' : 'table'}
      role={p.tree ? 'treegrid' : 'grid'}
      aria-label={p.label}
      aria-rowcount={p.rows + 1}
      aria-activedescendant={selected >= from && selected < to ? rowId(p.label, selected) : undefined}
      tabIndex={0}
      onKeyDown={key}
      onMouseLeave={p.onHover && (() => p.onHover!(-1))}
    >
      <div class="thead" role="row" aria-rowindex={1} style={{ gridTemplateColumns: template, minWidth: `${least}px` }}>
        {columns.map(c => {
          const sorted = p.sort?.id === c.id;
          return (
            <div
              key={c.id}
              role="columnheader"
              class={c.numeric ? 'num' : ''}
              title={c.hint}
              aria-sort={sorted ? (p.sort!.descending ? 'descending' : 'ascending') : undefined}
            >
              {c.sortable ? (
                <button type="button" onClick={() => p.onSort?.(c.id)}>
                  {c.title}
                  {sorted && <span aria-hidden="true">{p.sort!.descending ? ' ↓' : ' ↑'}</span>}
                </button>
              ) : (
                c.title || <span class="hidden">{c.hint}</span>
              )}
            </div>
          );
        })}
      </div>
      <div class="tbody" role="rowgroup" style={{ height: `${p.rows * rowHeight}px`, minWidth: `${least}px` }}>
        {rows}
      </div>
      {p.rows === 0 && p.empty && <div class="empty">{p.empty}</div>}
    </div>
  );
  return (
    <>
      {paper.value && <Printed rows={p.rows} columns={fitting(all, sheet)} rowClass={p.rowClass} />}
      {p.fitted ? (
        <div class="fitted" style={{ '--rows': p.rows || leastRows }}>
          {table}
        </div>
      ) : (
        table
      )}
    </>
  );
}

const sheet = 1000; // px of the columns that a sheet has room for, in its smaller type
const mostOnPaper = 500;

/** The table on paper: not only the rows that the window shows, with the heading on every sheet. */
function Printed({ rows, columns, rowClass }: { rows: number; columns: readonly Column[]; rowClass: Props['rowClass'] }) {
  const list = Array.from({ length: Math.min(rows, mostOnPaper) }, (_, row) => row);
  return (
    <>
      <Plain class="printed" rows={list} columns={columns} rowClass={rowClass} />
      {rows > mostOnPaper && <p class="dim">{counted(rows - mostOnPaper, 'more row')}</p>}
    </>
  );
}

const leastRows = 6; // room for what an empty table says

const rowId = (label: string, row: number): string => `${label}-${row}`.replace(/\s+/g, '-');
