// The columns of the numbers of functions and call nodes, of a tree or a diff.
import { amount, percent, relative } from '../core/format';
import type { Tree } from '../core/profile';
import type { Func } from '../core/table';
import type { Column } from '../ui/Table';
import { deltaText, tone, verdict } from './describe';

/** A function or call node: its numbers of each side. */
export interface Valued {
  f: Func;
  self: readonly number[];
  total: readonly number[];
  /** Whether its change is outside of the band of the history; undefined: sampling noise decides. */
  outside?: boolean | undefined;
}

/** The columns of the rows of a table; narrow ones are beside a graph. */
export function valueColumns(t: Tree, of: (row: number) => Valued, { narrow = false, sortable = false } = {}): Column[] {
  const value = (v = 0) => (v ? amount(v, t.unit) : '–');
  const number = (id: string, title: string, text: (x: Valued) => string, more: Partial<Column> = {}): Column => ({ id, title, width: 96, numeric: true, sortable, cell: i => text(of(i)), ...more });
  if (!t.isDiff) {
    const part = (v = 0) => (t.root[0] ? v / t.root[0] : 0);
    const share = (id: string, title: string, which: 'self' | 'total') =>
      number(id, title, x => (x[which][0] ? percent(part(x[which][0])) : '–'), { width: narrow ? 76 : 72, bar: i => Math.abs(part(of(i)[which][0])) });
    return narrow
      ? [share('total', 'Total', 'total'), share('self', 'Self', 'self')]
      : [
          number('total', 'Total', x => value(x.total[0]), { optional: 1 }),
          share('totalShare', 'Total %', 'total'),
          number('self', 'Self', x => value(x.self[0]), { optional: 2 }),
          share('selfShare', 'Self %', 'self'),
        ];
  }
  const of2 = (list: readonly number[]) => [list[0]!, list[1]!] as const;
  const changed = (i: number) => tone(t.change(...of2(of(i).total), of(i).outside));
  const width = narrow ? 88 : 104;
  const total = number('total', 'Δ total', x => deltaText(...of2(x.total), t), { width, class: changed });
  const self = number('self', 'Δ self', x => deltaText(...of2(x.self), t), { width, class: i => tone(t.changeOfSelf(...of2(of(i).self), of(i).outside)) });
  const ratio = number('relative', 'Δ relative', x => relative(...of2(x.total), t.noise(...of2(x.total))) || '–', { width: 84, class: changed });
  if (narrow) return [total, ratio, self];
  const state: Column = {
    id: 'rank',
    title: 'Change',
    hint: 'your own code first, then by size of the change; grey: within sampling noise',
    width: 104,
    sortable,
    optional: 1,
    cell: i => {
      const x = of(i);
      const v = verdict(t, ...of2(x.total), x.outside);
      return (
        <>
          {x.f.baseName !== undefined && <span class="faint">renamed{v && ', '}</span>}
          {v && <span class={v === 'within noise' ? 'faint' : v === 'slower' || v === 'new' ? 'more' : 'less'}>{v}</span>}
        </>
      );
    },
  };
  return [
    state,
    number('baseTotal', 'Base total', x => value(x.total[0]), { optional: 3 }),
    number('headTotal', 'Head total', x => value(x.total[1]), { optional: 3 }),
    total,
    { ...ratio, optional: 2 },
    number('baseSelf', 'Base self', x => value(x.self[0]), { optional: 4 }),
    number('headSelf', 'Head self', x => value(x.self[1]), { optional: 4 }),
    self,
  ];
}
