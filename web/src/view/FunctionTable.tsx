// The list of functions, of a tree or a diff, narrow beside a graph or wide on its own.
import { useMemo, useState } from 'preact/hooks';
import { counted, visible } from '../core/format';
import type { FunctionRow, Tree } from '../core/profile';
import { type Column, sortBy, Table, useSort } from '../ui/Table';
import { valueColumns } from './columns';
import { Name, namesakes } from './describe';

interface Props {
  t: Tree;
  rows: FunctionRow[];
  found: Uint8Array | null;
  selected: number;
  onSelect: (fn: number) => void;
  onOpen: (fn: number) => void;
  /** The right button or the menu key, at a point of the window. */
  onMenu: (fn: number, x: number, y: number) => void;
  narrow: boolean;
}

type Which = 'all' | 'slower' | 'faster' | 'own code';

const groups = ['your own code', 'libraries and runtime', 'within the noise'];

const changeOf = (t: Tree, r: FunctionRow): number => t.change(r.total[0]!, r.total[1]!, r.outside);

/** Where a function of a diff belongs: the user's own code first, and what changed before what did not. */
const groupOf = (t: Tree, r: FunctionRow): number => (changeOf(t, r) === 0 ? 2 : t.table.functions[r.fn]!.own ? 0 : 1);

export function FunctionTable({ t, rows, found, selected, onSelect, onOpen, onMenu, narrow }: Props) {
  const { sort, onSort } = useSort(t.isDiff ? 'rank' : narrow ? 'total' : 'self', ['name']);
  const [which, setWhich] = useState<Which>('all');
  const counts = useMemo(() => {
    const of = t.isDiff ? rows.map(r => changeOf(t, r)) : [];
    return { slower: of.filter(c => c > 0).length, faster: of.filter(c => c < 0).length };
  }, [rows]);
  const last = t.sides - 1;
  const twins = useMemo(() => namesakes(rows.map(r => t.table.functions[r.fn]!)), [rows]);
  const list = useMemo(() => {
    const kept = rows.filter(r => {
      if (found && !found[r.fn]) return false;
      if (which === 'all') return true;
      if (which === 'own code') return t.table.functions[r.fn]!.own === true;
      return which === 'slower' ? changeOf(t, r) > 0 : changeOf(t, r) < 0;
    });
    const delta = (v: number[]) => (t.isDiff ? v[1]! - v[0]! : v[0]!);
    const keys: Record<string, (r: FunctionRow) => number | string> = {
      rank: r => -groupOf(t, r),
      name: r => t.table.functions[r.fn]!.name,
      self: r => Math.abs(delta(r.self)),
      total: r => Math.abs(delta(r.total)),
      baseTotal: r => r.total[0]!,
      headTotal: r => r.total[last]!,
      baseSelf: r => r.self[0]!,
      headSelf: r => r.self[last]!,
      relative: r => (r.total[0] ? delta(r.total) / Math.abs(r.total[0]!) : Number.MAX_VALUE * Math.sign(delta(r.total))),
    };
    return sortBy(kept, keys[sort.id.replace('Share', '')]!, sort.descending);
  }, [rows, found, which, sort]);
  // In the order of groups each has a heading, so that the order explains itself.
  const shown = useMemo(() => {
    if (sort.id !== 'rank') return list.map((_, i) => i);
    const out: (number | string)[] = [];
    const anyOwn = rows.some(r => t.table.functions[r.fn]!.own);
    list.forEach((r, i) => {
      const group = groupOf(t, r);
      if (i === 0 || group !== groupOf(t, list[i - 1]!)) out.push(group === 1 && !anyOwn ? 'changed' : groups[group]!);
      out.push(i);
    });
    return out;
  }, [list]);
  const at = shown.findIndex(i => typeof i === 'number' && list[i]!.fn === selected);
  const rowOf = (k: number): FunctionRow | undefined => (typeof shown[k] === 'number' ? list[shown[k]] : undefined);
  const name: Column = {
    id: 'name',
    title: counted(list.length, 'function'),
    sortable: true,
    cell: i => {
      const f = t.table.functions[list[i]!.fn]!;
      return <Name f={f} apart={twins.has(f)} />;
    },
  };
  const where = (i: number) => {
    const { module, file } = t.table.functions[list[i]!.fn]!;
    return visible([module, file.replace(/.*\//, '')].filter(Boolean).join(' · '));
  };
  const place: Column = { id: 'place', title: 'Where', width: 260, text: where, optional: 3, class: () => 'dim', cell: where };
  const values = valueColumns(t, i => ({ ...list[i]!, f: t.table.functions[list[i]!.fn]! }), { narrow, sortable: true });
  const columns = [name, ...values, ...(t.isDiff || narrow || !list.some((_, i) => where(i)) ? [] : [place])];
  return (
    <div class="list">
      {t.isDiff && (
        <div class="segments" role="group" aria-label="which changes">
          {(['all', 'slower', 'faster', ...(rows.some(r => t.table.functions[r.fn]!.own) ? (['own code'] as const) : [])] as const).map(w => (
            <button key={w} type="button" aria-pressed={which === w} onClick={() => setWhich(w)}>
              {w}
              {(w === 'slower' || w === 'faster') && <span class={w === 'slower' ? 'more' : 'less'}> {counts[w]}</span>}
            </button>
          ))}
          <span class="faint">outside of the {t.outside ? 'band' : 'noise'}</span>
        </div>
      )}
      <Table
        label="functions"
        rows={shown.length}
        columns={columns.map(c => ({
          ...c,
          cell: (k: number) => (typeof shown[k] === 'number' ? c.cell(shown[k]) : c.id === 'name' && shown[k]),
          ...(c.bar && { bar: (k: number) => (typeof shown[k] === 'number' ? c.bar!(shown[k]) : 0) }),
          class: (k: number) => (typeof shown[k] === 'number' ? (c.class?.(shown[k]) ?? '') : ''),
        }))}
        rowKey={k => rowOf(k)?.fn ?? shown[k]!}
        sort={sort}
        onSort={onSort}
        selected={at}
        onSelect={k => {
          const r = rowOf(k) ?? rowOf(k < at ? k - 1 : k + 1); // arrows pass a heading
          if (r) onSelect(r.fn);
        }}
        onOpen={k => {
          const r = rowOf(k);
          if (r) onOpen(r.fn);
        }}
        onMenu={(k, x, y) => {
          const r = rowOf(k);
          if (r) onMenu(r.fn, x, y);
        }}
        rowClass={k => {
          const r = rowOf(k);
          return !r ? 'group' : t.isDiff && groupOf(t, r) === 2 ? 'quiet' : '';
        }}
        empty={found ? 'No function matches the search.' : 'No functions.'}
      />
    </div>
  );
}
