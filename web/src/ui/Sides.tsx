// Two sides of several benchmarks: amounts of different benchmarks do not add up, so that each has a row.
import { useMemo, useState } from 'preact/hooks';
import type { BenchmarkDiffs, DiffBenchmark } from '../core/answers';
import { amount, percent, signed, visible } from '../core/format';
import { benchmarkName } from '../core/metric';
import { notesOf } from '../core/request';
import { go, href, place, withChanges } from '../core/url';
import { Crumbs } from './Crumbs';
import { Fn } from './Fn';
import { Page } from './Page';
import { type Column, Table } from './Table';

const tone = (b: DiffBenchmark): string => (b.level === 'slower' ? 'more' : b.level === 'faster' ? 'less' : 'dim');
const ran = (b: DiffBenchmark): boolean => b.profiles.base > 0 && b.profiles.head > 0;
const per = (b: DiffBenchmark): string => (b.by === 'operation' ? '/op' : b.by === 'second' ? '/s' : '');

const sorts: Record<string, (b: DiffBenchmark) => string | number> = {
  benchmark: benchmarkName,
  change: b => (ran(b) ? (b.total.relative ?? 0) : -Infinity),
  level: b => ['not run', 'new', 'unchanged', 'faster', 'slower'].indexOf(b.level),
  function: b => b.function ?? '',
};

export function DiffOfBenchmarks({ of, title }: { of: BenchmarkDiffs; title: string }) {
  const { params } = place.value;
  const [sort, setSort] = useState({ id: 'level', descending: true });
  const [selected, select] = useState(-1);
  const rows = useMemo(() => {
    const key = sorts[sort.id]!;
    const list = [...of.rows].sort((x, y) => (key(x) < key(y) ? -1 : key(x) > key(y) ? 1 : Math.abs(x.total.relative ?? 0) - Math.abs(y.total.relative ?? 0)));
    return sort.descending ? list.reverse() : list;
  }, [of, sort]);
  const sides = Object.fromEntries([...new Set(withChanges(params, { type: null }).keys())].map(name => [name, params.getAll(name)]));
  const to = (b: DiffBenchmark) => ({ ...sides, group: b.group, benchmark: b.benchmark, type: b.type });
  const amountOf = (v: number, b: DiffBenchmark) => amount(v, b.unit) + per(b);
  const columns: Column[] = [
    { id: 'level', title: 'Verdict', hint: 'of the whole program; unchanged is within sampling noise', width: 96, sortable: true, class: i => tone(rows[i]!), cell: i => rows[i]!.level },
    {
      id: 'benchmark',
      title: 'Benchmark',
      sortable: true,
      wanted: 260,
      cell: i => {
        const b = rows[i]!;
        const name = visible(benchmarkName(b));
        return ran(b) ? <a href={href('diff', to(b))}>{name}</a> : <a href={href('benchmark', { group: b.group, benchmark: b.benchmark })}>{name}</a>;
      },
    },
    { id: 'base', title: 'Base', width: 110, numeric: true, optional: 3, cell: i => (ran(rows[i]!) ? amountOf(rows[i]!.total.base, rows[i]!) : rows[i]!.profiles.base > 0 ? '' : 'no run') },
    { id: 'head', title: 'Head', width: 110, numeric: true, optional: 3, cell: i => (ran(rows[i]!) ? amountOf(rows[i]!.total.head, rows[i]!) : rows[i]!.profiles.head > 0 ? '' : 'no run') },
    {
      id: 'change',
      title: 'Change',
      width: 84,
      numeric: true,
      sortable: true,
      class: i => tone(rows[i]!),
      cell: i => (ran(rows[i]!) && rows[i]!.total.relative !== null ? <b title={`sampling noise: ±${amountOf(rows[i]!.noise, rows[i]!)}`}>{signed(rows[i]!.total.relative!, percent)}</b> : ''),
    },
    {
      id: 'function',
      title: 'Function',
      hint: 'the innermost one with at least half of the change',
      sortable: true,
      wanted: 300,
      cell: i => {
        const b = rows[i]!;
        return b.function && (
          <>
            <Fn name={b.function} /> <span class={tone(b)}>{signed(b.change.delta, v => amountOf(v, b))}</span>
          </>
        );
      },
    },
    { id: 'type', title: 'Value', width: 96, optional: 2, cell: i => <span class="dim">{visible(rows[i]!.type)}</span> },
  ];
  return (
    <Page
      title={title}
      crumbs={<Crumbs of={params} />}
      sub={of.headline}
      actions={
        <a class="button" href={href('diff', { ...sides, type: params.get('type') ?? of.type, merged: 'true' })} title={`the benchmarks of value type ${of.type} as one tree`}>
          Merged tree
        </a>
      }
    >
      {notesOf(of.notes).map(n => (
        <p key={n} class="dim">
          {visible(n)}
        </p>
      ))}
      <Table
        fitted
        label="Benchmarks"
        rows={rows.length}
        columns={columns}
        rowKey={i => benchmarkName(rows[i]!)}
        sort={sort}
        onSort={id => setSort(s => ({ id, descending: s.id === id ? !s.descending : id === 'level' || id === 'change' }))}
        selected={selected}
        onSelect={select}
        onOpen={i => ran(rows[i]!) && go('diff', to(rows[i]!))}
      />
    </Page>
  );
}
