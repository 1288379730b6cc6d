// A pull request, or any two: a row for each benchmark, with its verdict, what it took on both sides, and the diff.
import { useMemo, useState } from 'preact/hooks';
import type { BenchmarkDiffs, Change as Found, DiffBenchmark, Outcome, ReportDocument } from '../core/answers';
import { amount, percent, signed, visible } from '../core/format';
import { benchmarkName, keyOf } from '../core/metric';
import { withoutFlags } from '../core/request';
import { go, href, place, update } from '../core/url';
import { costs, Glance } from './Evidence';
import { Fn, Named } from './Fn';
import { type Loading, useAnswer } from './Load';
import { size, status, tone } from './Outcome';
import { type Column, sortBy, Table, useSort } from './Table';
import { countsText, few, Panel } from './Triage';

interface Row {
  group: string;
  benchmark: string;
  outcome: Outcome;
  /** What it took; undefined until it is known, and without a run on both sides. */
  took: DiffBenchmark | undefined;
}

/** The benchmarks of a report, each once, with what the diff says that they took. */
export function rowsOf(doc: ReportDocument, took: readonly DiffBenchmark[]): Row[] {
  const of = new Map(took.map(b => [keyOf(b), b]));
  return [...new Map(doc.benchmarks.map(b => [keyOf(b), b])).values()].map(b => {
    const both = of.get(keyOf(b));
    return { group: b.group ?? '', benchmark: b.benchmark, outcome: b.outcome, took: both && both.profiles.base > 0 && both.profiles.head > 0 ? both : undefined };
  });
}

const order = ['unknown', 'too few runs', 'new', 'gone', 'not run at HEAD', 'unchanged', 'accepted', 'machine', 'faster', 'slower'];
const sorts: Record<string, (r: Row) => string | number> = {
  benchmark: benchmarkName,
  change: r => r.took?.total.relative ?? -Infinity,
  level: r => order.indexOf(r.outcome.status),
  function: r => r.outcome.title ?? '',
};

export default function Sides({ doc, params }: { doc: ReportDocument; params: URLSearchParams }) {
  const address = place.value.params;
  const { sort, onSort } = useSort('level', ['benchmark', 'function']);
  const [at, setAt] = useState('');
  const q = new URLSearchParams([...params].filter(([name]) => name !== 'last'));
  q.set('view', 'benchmarks');
  const diff: Loading<BenchmarkDiffs> = useAnswer('diff', q);
  const rows = useMemo(() => {
    const list = sortBy(rowsOf(doc, diff.value?.rows ?? []), r => Math.abs(r.took?.total.relative ?? 0), sort.descending);
    return sortBy(list, sorts[sort.id]!, sort.descending);
  }, [doc, diff.value, sort]);
  const sides = Object.fromEntries(['machine', 'since', 'until', 'base', 'head'].map(name => [name, params.getAll(name)]));
  const to = (r: Row) => (r.took ? { ...sides, group: r.group, benchmark: r.benchmark, type: r.took.type } : null);
  const found = doc.changes.find(c => c.id === address.get('change'));
  const first = doc.changes.find(costs);
  const judged = (c: Found | undefined) => doc.benchmarks.find(b => c && keyOf(b) === keyOf(c) && b.type === c.type);
  const took = (i: number, side: 'base' | 'head') => {
    const { took: b } = rows[i]!;
    return b ? perOperation(b)(b.total[side]) : '';
  };
  const columns: Column[] = [
    {
      id: 'level',
      title: 'Verdict',
      width: 150,
      sortable: true,
      class: i => tone(rows[i]!.outcome),
      cell: i => {
        const { outcome: o } = rows[i]!;
        return (
          <span title={withoutFlags(o.reason ?? status(o))}>
            {o.notAt ? 'not run' : o.status}
            {o.certainty && <small>, {o.certainty}</small>}
          </span>
        );
      },
    },
    {
      id: 'benchmark',
      title: 'Benchmark',
      width: 420,
      text: i => benchmarkName(rows[i]!),
      sortable: true,
      cell: i => {
        const r = rows[i]!;
        const diff = to(r);
        return (
          <a href={diff ? href('diff', diff) : href('benchmark', { group: r.group, benchmark: r.benchmark })}>
            <Named of={r} />
          </a>
        );
      },
    },
    { id: 'base', title: 'Base', width: 160, text: i => took(i, 'base'), numeric: true, optional: 3, cell: i => took(i, 'base') },
    { id: 'head', title: 'Head', width: 160, text: i => took(i, 'head'), numeric: true, optional: 3, cell: i => took(i, 'head') },
    {
      id: 'change',
      title: 'Change',
      hint: 'of the whole program',
      width: 84,
      numeric: true,
      sortable: true,
      class: i => tone(rows[i]!.outcome),
      cell: i => {
        const { took: b } = rows[i]!;
        return b && b.total.relative !== null && <b title={`sampling noise: ±${perOperation(b)(b.noise)}`}>{signed(b.total.relative, percent)}</b>;
      },
    },
    {
      id: 'function',
      title: 'Function',
      hint: 'yours, and its call, with its part of the change; of what was not judged the innermost one with half of the change',
      sortable: true,
      wanted: 300,
      cell: i => {
        const { outcome: o, took: b } = rows[i]!;
        if (o.title)
          return (
            <button type="button" class="plainbutton name" title="the evidence" onClick={() => update({ change: o.finding ?? null }, true)}>
              {`${visible(o.title)} ${size(o)}`}
            </button>
          );
        const open = ['too few runs', 'unknown'].includes(o.status) && b?.function;
        return (
          <span class="dim">
            {withoutFlags(status(o))}
            {open && (
              <>
                {'; '}
                <Fn name={b!.function!} /> {signed(b!.change.delta, perOperation(b!))}
              </>
            )}
          </span>
        );
      },
    },
  ];
  return (
    <section class="findings triage" aria-label="Benchmarks of both sides">
      <div class="head">
        <p>
          <b>{doc.counts?.length ? countsText(doc.counts) : visible(doc.headline)}</b>
        </p>
        {diff.error && <p role="alert">{visible(withoutFlags(diff.error.message))}</p>}
        <a class="button" href={href('diff', { ...sides, group: params.getAll('group'), type: params.get('type') ?? diff.value?.type, merged: 'true' })} title="the sum of the benchmarks of one value type">
          Merged trees
        </a>
      </div>
      <div class={`split ${found ? 'open' : ''}`}>
        <Table
          fitted
          label="Benchmarks of both sides"
          rows={rows.length}
          columns={columns}
          rowKey={i => keyOf(rows[i]!)}
          sort={sort}
          onSort={onSort}
          selected={rows.findIndex(r => (found ? keyOf(r) === keyOf(found) : keyOf(r) === at))}
          onSelect={i => {
            setAt(keyOf(rows[i]!));
            const { finding } = rows[i]!.outcome;
            if (finding || found) update({ change: finding ?? null }, !found);
          }}
          onOpen={i => {
            const diff = to(rows[i]!);
            if (diff) go('diff', diff);
          }}
          empty="Neither side has a benchmark."
        />
        {found && <Panel key={found.id} row={{ is: 'change', c: found, b: judged(found) }} doc={doc} params={params} close={() => update({ change: null }, true)} />}
      </div>
      {!found && first && rows.length <= few && <Glance c={first} b={judged(first)} />}
    </section>
  );
}

/** Writes an amount of a benchmark: "9.31 ms/op". */
const perOperation = (b: DiffBenchmark) => (v: number): string => amount(v, b.unit) + (b.unit === 'count' ? ' samples' : '') + (b.by === 'operation' ? '/op' : b.by === 'second' ? '/s' : '');
