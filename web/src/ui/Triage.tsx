// What changed, as one table: Home, Regressions and reports show this one. A row is a
// finding; what did not change is one row that unfolds; the panel has the evidence.
import { useEffect, useMemo, useRef } from 'preact/hooks';
import type { BenchmarkOverview, Change, Count, JudgedBenchmark, Outcome, ReportDocument } from '../core/answers';
import { commit, count, counted, instant, percent, signed, visible } from '../core/format';
import { looks, unseen } from '../core/looked';
import { benchmarkName, change, keyOf, metric, otherBenchmarks } from '../core/metric';
import { typeName } from '../core/pushed';
import { withoutFlags } from '../core/request';
import { carried } from '../core/scope';
import { paper } from '../core/settings';
import { queryOf, source } from '../core/source';
import { goTo, href, place, update } from '../core/url';
import { Box } from './Box';
import { BenchmarkEvidence, costs, diffLink, FindingEvidence, Glance, pageOf, past, Title, tone, verdict } from './Evidence';
import { Named } from './Fn';
import { useKeys } from './Keys';
import { Await, useLoad } from './Load';
import { status } from './Outcome';
import { Since } from './Since';
import { Spark } from './Spark';
import { type Column, sortBy, Table, useSort } from './Table';
import { Select } from './Select';

type Named = { group?: string; benchmark: string };
type Row =
  | { is: 'change'; c: Change; b: JudgedBenchmark | undefined }
  | { is: 'fold'; counts: Count[] }
  | { is: 'quiet'; b: Named; o: Outcome; metric: BenchmarkOverview['metric'] | undefined; last: string | undefined; branch: string | undefined; service?: string | undefined };

/** A benchmark of the list, or what a service pushes of one type. */
export type Listed = BenchmarkOverview & { service?: string };

const nameOf = (r: Row): string => (r.is === 'fold' ? '' : benchmarkName(r.is === 'change' ? r.c : r.b));
const branchOf = (r: Row): string => (r.is === 'fold' ? '' : (r.is === 'change' ? r.b?.outcome.branch : r.branch)) ?? '';

/** The page of a benchmark that did not change. */
const quietPage = (r: Extract<Row, { is: 'quiet' }>): string =>
  r.service ? href('services', { service: r.service }) : href('benchmark', { ...carried(), group: r.b.group, benchmark: r.b.benchmark });

interface Props {
  doc: ReportDocument;
  /** All benchmarks, with their newest runs; a report has them itself. */
  benchmarks?: readonly Listed[] | undefined;
  /** The request behind the document, to ask for the evidence of one benchmark. */
  params?: URLSearchParams | undefined;
}

const isNew = (c: Change): boolean => (c.headline ? !!c.headline.new : c.presence === 'new');
/** Whether a change, or one of its benchmarks, is new since the last look. */
const fresh = (c: Change): boolean => [c, ...(c.also ?? [])].some(x => unseen(looks.value, x.id));

const sorts: Record<string, (c: Change) => string | number> = {
  verdict: c => `${verdict(c)} ${c.status}`,
  share: c => c.delta.share,
  time: c => c.delta.time?.value ?? 0,
  what: c => c.headline?.function ?? c.function ?? '',
  benchmark: benchmarkName,
  // Newest onset first; what is accepted comes last.
  since: c => `${c.acknowledged ? 0 : 1} ${c.change?.onset.date ?? ''} ${c.since.run} ${costs(c) ? 1 : 0}`,
};

/** The filters of the address: those that leave out benchmarks without a finding, and the others. */
const narrowing = ['slower', 'own', 'certainty', 'unseen', 'new'];
const filterNames = ['q', 'past', ...narrowing];

/** The findings that the filters of the address leave, in order. */
export function shownChanges(doc: ReportDocument, params: URLSearchParams): Change[] {
  const words = (params.get('q') ?? '').toLowerCase().split(/\s+/);
  const fits = (c: Change) => {
    const text = [benchmarkName(c), ...(c.also ?? []).map(benchmarkName), c.function, c.headline?.function, c.headline?.calls, c.since.run, c.since.commit].join(' ').toLowerCase();
    return words.every(w => text.includes(w));
  };
  const certainty = params.get('certainty');
  return doc.changes.filter(
    c =>
      (params.get('past') === 'true' || !past(c)) &&
      (params.get('slower') !== 'true' || costs(c)) &&
      (params.get('own') !== 'true' || !!c.headline?.own) &&
      (params.get('unseen') !== 'true' || fresh(c)) &&
      (c.change?.seen.date ?? 'unknown') >= (params.get('new') ?? '') && // dates compare as texts
      (!certainty || (certainty === 'accepted' ? !!c.acknowledged : c.status === certainty && !c.acknowledged)) &&
      fits(c),
  );
}

/** The benchmarks with a finding that is listed. */
const changedIn = (doc: ReportDocument): Set<string> => new Set(doc.changes.filter(c => !past(c)).flatMap(c => [c, ...(c.also ?? [])].map(keyOf)));

/** The numbers of benchmarks without a listed finding, whether or not these benchmarks are known. */
export function quietCounts(doc: ReportDocument): Count[] {
  const changed = changedIn(doc);
  const of = new Map(doc.benchmarks.filter(b => changed.has(keyOf(b))).map(b => [keyOf(b), b.outcome.status]));
  const less = [...of.values()];
  return (doc.counts ?? []).map(c => ({ ...c, benchmarks: c.benchmarks - less.filter(s => s === c.status).length })).filter(c => c.benchmarks > 0);
}

/** "31 unchanged, 7 not run at 16bc8ed". */
export const countsText = (counts: readonly Count[]): string => counts.map(c => `${count(c.benchmarks)} ${visible(c.says)}`).join(', ');

/** The benchmarks without a finding, as the document and the list of all say it. */
export function quietRows(doc: ReportDocument, all: readonly Listed[] | undefined, words: string[]): Extract<Row, { is: 'quiet' }>[] {
  const changed = changedIn(doc);
  const judged = new Map(doc.benchmarks.map(b => [keyOf(b), b]));
  const list: { b: Named; of?: Listed }[] = all ? all.map(b => ({ b, of: b })) : [...new Map(doc.benchmarks.map(b => [keyOf(b), { b }])).values()];
  return list
    .filter(({ b }) => !changed.has(keyOf(b)) && words.every(w => benchmarkName(b).toLowerCase().includes(w)))
    .map(({ b, of }) => {
      const j = judged.get(keyOf(b));
      const m = j?.metric && { name: j.metric.name, unit: j.metric.unit, values: j.metric.values.map(v => v || null), last: j.metric.values.at(-1) ?? 0, mean: 0, deviation: 0 };
      return { is: 'quiet', b, o: j?.outcome ?? of?.outcome ?? { status: 'unknown', says: '' }, metric: of ? of.metric : m, last: of?.last.run ?? j?.runs.at(-1)?.run, branch: of?.last.branch ?? j?.outcome.branch, service: of?.service };
    });
}

/** The numbers of rows by status. */
function tally(rows: readonly Extract<Row, { is: 'quiet' }>[]): Count[] {
  const of = new Map<string, Count>();
  for (const { o } of rows) {
    const says = o.notAt ? o.says : o.status;
    of.set(says, { status: o.status, says, benchmarks: (of.get(says)?.benchmarks ?? 0) + 1 });
  }
  return [...of.values()];
}

/** A list of so many rows leaves room for its first change. */
export const few = 12;

export function Triage({ doc, benchmarks, params }: Props) {
  const address = place.value.params;
  const { sort, onSort } = useSort('since', ['verdict', 'what', 'benchmark']);
  // Evidence has an address: opening it is a step of the history, moving to the next row is none.
  const selected = address.get('change');
  const select = (key: string | null) => update({ change: key }, selected === null);
  const unfolded = address.get('quiet') === 'true';
  const filters = filterNames.map(n => address.get(n)).join('\n');
  const rows = useMemo(() => {
    const of = new Map(doc.benchmarks.map(b => [`${keyOf(b)} ${b.type}`, b]));
    const list = sortBy(shownChanges(doc, address), sorts[sort.id]!, sort.descending).map((c): Row => ({ is: 'change', c, b: of.get(`${keyOf(c)} ${c.type}`) }));
    const words = (address.get('q') ?? '').toLowerCase().split(/\s+/);
    const only = narrowing.some(n => address.has(n));
    const quiet = only ? [] : quietRows(doc, benchmarks, words);
    const counts = only ? [] : words.join('') ? tally(quiet) : quietCounts(doc);
    if (counts.length > 0) list.push({ is: 'fold', counts });
    return unfolded ? list.concat(quiet) : list;
  }, [doc, benchmarks, sort, filters, unfolded]);
  const rowKey = (i: number): string => {
    const r = rows[i]!;
    return r.is === 'change' ? r.c.id : r.is === 'fold' ? 'fold' : keyOf(r.b);
  };
  const at = selected === null ? -1 : rows.findIndex((_, i) => rowKey(i) === selected);
  const move = (by: number) => {
    const n = rows.filter(r => r.is === 'change').length;
    if (n > 0) select(rowKey(Math.max(0, Math.min(n - 1, at < 0 ? (by > 0 ? 0 : n - 1) : at + by))));
  };
  useKeys([
    { keys: '[', help: 'the finding before', run: () => move(-1) },
    { keys: ']', help: 'the next finding', run: () => move(1) },
  ]);
  const fold = () => update({ quiet: unfolded ? null : 'true' });
  const open = (i: number) => {
    const r = rows[i]!;
    if (r.is === 'fold') fold();
    else if (r.is === 'quiet') goTo(quietPage(r));
    else goTo(diffLink(r.c) ?? pageOf(r.c));
  };
  const linked = doc.changes.find(c => c.id === selected || (c.also ?? []).some(x => x.id === selected)); // also one that the filters leave out
  const row = rows[at] ?? (linked && ({ is: 'change', c: linked, b: doc.benchmarks.find(b => keyOf(b) === keyOf(linked) && b.type === linked.type) } as const));
  const first = rows.find(r => r.is === 'change' && costs(r.c)) ?? rows[0];
  return (
    <section class="findings triage" aria-label="What changed">
      <Filters doc={doc} />
      {selected?.startsWith('[') === false && !row && <p role="status">{`No open change has the id ${visible(selected)}: it has ended, or it is of another branch or time.`}</p>}
      <div class={`split ${row ? 'open' : ''}`}>
        <Table
          fitted
          label="What changed"
          rows={rows.length}
          columns={columns(rows, unfolded, fold, !!row)}
          rowKey={rowKey}
          sort={sort}
          onSort={onSort}
          selected={at}
          onSelect={i => (rows[i]!.is === 'fold' ? undefined : select(rowKey(i)))}
          onOpen={open}
          rowClass={i => {
            const r = rows[i]!;
            return r.is === 'change' && r.c.acknowledged ? 'accepted' : r.is === 'fold' ? 'fold' : '';
          }}
          empty="No finding fits the filters."
        />
        {row && row.is !== 'fold' && <Panel key={selected} row={row} doc={doc} params={params} close={() => select(null)} />}
      </div>
      {paper.value ? <Printed doc={doc} /> : !row && first?.is === 'change' && rows.length <= few && !source.value.offline && <Glance c={first.c} b={first.b} />}
    </section>
  );
}

/** Beside the evidence, which says since when and by how much, functions and benchmarks have the room. */
function columns(rows: Row[], unfolded: boolean, fold: () => void, beside: boolean): Column[] {
  const branches = new Set(rows.map(branchOf).filter(Boolean));
  const list: Column[] = [
    {
      id: 'verdict',
      title: 'Verdict',
      width: 132,
      sortable: true,
      class: i => {
        const r = rows[i]!;
        return r.is === 'change' ? tone(r.c) : 'dim';
      },
      cell: i => {
        const r = rows[i]!;
        if (r.is === 'fold') // it reaches over the whole row
          return (
            <button type="button" class="plainbutton" aria-expanded={unfolded} onClick={e => (e.stopPropagation(), fold())}>
              {`${unfolded ? '▾' : '▸'} ${counted(r.counts.reduce((n, c) => n + c.benchmarks, 0), i > 0 ? 'more benchmark' : 'benchmark')}: ${r.counts.length === 1 ? visible(r.counts[0]!.says) : countsText(r.counts)}`}
            </button>
          );
        if (r.is === 'quiet') return <span title={r.o.reason && withoutFlags(r.o.reason)}>{r.o.notAt ? 'not run' : r.o.status}</span>;
        const state = r.c.acknowledged ? 'accepted' : r.c.status;
        return (
          <span title={r.c.fails ? 'fails the check' : undefined}>
            {r.c.fails && '✕ '}
            {verdict(r.c)}
            {state !== 'transient' && <>, <small>{state}</small></>}
          </span>
        );
      },
    },
    {
      id: 'share',
      title: 'Change',
      hint: 'of the cost of the program before',
      width: 72,
      numeric: true,
      sortable: true,
      class: i => {
        const r = rows[i]!;
        return r.is === 'change' ? tone(r.c) : '';
      },
      cell: i => {
        const r = rows[i]!;
        return r.is === 'change' ? <b>{signed(r.c.delta.share, percent)}</b> : null;
      },
    },
    {
      id: 'time',
      title: 'Per operation',
      hint: 'in the unit of the metric; of quiet benchmarks the newest value',
      width: 118,
      numeric: true,
      sortable: true,
      optional: beside ? 5 : 4,
      cell: i => {
        const r = rows[i]!;
        if (r.is === 'change')
          return r.c.delta.time ? (
            change(r.c.delta.time.value, r.c.delta.time.unit)
          ) : (
            <span class="dim" title={`${signed(r.c.delta.samples, v => v.toFixed(0))} samples per run; no metric or number of operations was imported with these runs`}>
              –
            </span>
          );
        return r.is === 'quiet' && r.metric ? <span class="dim">{metric(r.metric.last, r.metric.unit)}</span> : null;
      },
    },
    {
      id: 'what',
      title: 'Function of yours, and its call',
      wanted: 390,
      sortable: true,
      cell: i => {
        const r = rows[i]!;
        if (r.is === 'change')
          return (
            <>
              {fresh(r.c) && (
                <small class="fresh" title="new since you last looked">
                  new{' '}
                </small>
              )}
              {isNew(r.c) && <small class="dim">new function </small>}
              <span class="name headline">
                <Title c={r.c} short />
              </span>
              {otherBenchmarks(r.c).length > 0 && (
                <small class="dim">{` and in ${counted(otherBenchmarks(r.c).length, 'more benchmark')}`}</small>
              )}
            </>
          );
        if (r.is === 'quiet') return <span class="dim">{withoutFlags(status(r.o))}</span>;
        return null;
      },
    },
    {
      id: 'benchmark',
      title: 'Benchmark',
      width: 300,
      text: i => nameOf(rows[i]!),
      sortable: true,
      optional: 3,
      cell: i => {
        const r = rows[i]!;
        if (r.is === 'fold') return null;
        const b = r.is === 'change' ? r.c : r.b;
        const name = <Named of={b} as={(r.is === 'change' ? r.c.sides?.service : r.service) ? typeName(b.benchmark) : b.benchmark} />;
        if (source.value.offline) return name;
        return (
          <a href={r.is === 'change' ? pageOf(r.c) : quietPage(r)} title={visible(benchmarkName(b))}>
            {name}
          </a>
        );
      },
    },
    {
      id: 'since',
      title: 'Since',
      hint: 'the first run with the change, and its commit; of quiet benchmarks the newest run',
      width: 290,
      text: i => {
        const r = rows[i]!;
        return r.is === 'change' ? `${r.c.since.run} ${commit(r.c.since.commit ?? '')}` : r.is === 'quiet' ? (r.last ?? '') : '';
      },
      sortable: true,
      optional: beside ? 6 : 2,
      cell: i => {
        const r = rows[i]!;
        if (r.is === 'fold') return null;
        if (r.is === 'quiet') return <span class="dim">{visible(r.last ?? '')}</span>;
        const { run, commit: hash, lastGood } = r.c.since;
        const to = !source.value.offline && lastGood && !r.c.sides?.service && href('diff', { group: r.c.group, benchmark: r.c.benchmark, type: r.c.type, 'base-run': lastGood, 'head-run': run });
        const text = (
          <>
            {visible(run)} {hash && <code>{commit(hash)}</code>}
          </>
        );
        return to ? (
          <a href={to} title={`compare with ${visible(lastGood)}, the last good run`}>
            {text}
          </a>
        ) : (
          text
        );
      },
    },
    {
      id: 'spark',
      title: 'Metric',
      width: 138,
      optional: 5,
      cell: i => {
        const r = rows[i]!;
        if (r.is === 'quiet') return r.metric && <Spark values={r.metric.values} label={`${r.metric.name} of the last ${r.metric.values.length} runs`} />;
        const m = r.is === 'change' ? r.b?.metric : undefined;
        if (r.is !== 'change' || !m) return null;
        const from = Math.max(0, m.values.length - 40);
        const onset = r.b!.runs.findIndex(x => x.run === r.c.since.run);
        return (
          <Spark
            values={m.values.slice(from).map(v => v || null)}
            mark={onset - from}
            kind={costs(r.c) ? 'worse' : 'better'}
            label={`${m.name} over ${m.values.length - from} runs, changed at ${visible(r.c.since.run)}`}
          />
        );
      },
    },
    { id: 'branch', title: 'Branch', width: 160, text: i => branchOf(rows[i]!), optional: 6, cell: i => <span class="dim">{visible(branchOf(rows[i]!))}</span> },
  ];
  return branches.size > 1 ? list : list.slice(0, -1); // no column repeats what was chosen
}

const certainties = ['', 'confirmed', 'suspect', 'accepted'].map(x => [x, x || 'any'] as const);

/** The filters of the table; they are in the address. */
function Filters({ doc }: { doc: ReportDocument }) {
  const { params } = place.value;
  const all = doc.changes.length;
  if (all === 0) return <p class="dim">{`${doc.headline.charAt(0).toUpperCase()}${doc.headline.slice(1)}.`}</p>;
  const shown = shownChanges(doc, params).length;
  const { before } = looks.value;
  const unlooked = doc.changes.filter(c => !past(c) && fresh(c)).length;
  return (
    <div class="pickers">
      <Select title="Certainty" value={params.get('certainty') ?? ''} options={certainties} change={certainty => update({ certainty })} />
      <Box name="slower" title="leave out improvements and changes of the environment">
        only slower
      </Box>
      <Box name="own" title="only changes in functions of your own modules">
        own code
      </Box>
      {before &&
        !source.value.offline &&
        (unlooked > 0 || params.has('unseen')) && (
          <Box name="unseen" title={`first listed after ${instant(before.at)} UTC`}>
            {`new since you last looked (${count(unlooked)})`}
          </Box>
        )}
      {!source.value.offline && <Since />}
      {doc.changes.some(past) && (
        <Box name="past" title="also work that moved, and changes that the newest run no longer has">
          moved and past
        </Box>
      )}
      {shown === 0 && (
        <button type="button" onClick={() => update(Object.fromEntries(filterNames.map(n => [n, null])))}>
          Clear the filters
        </button>
      )}
      <span class="dim">{shown === all ? counted(all, 'finding') : `${shown} of ${counted(all, 'finding')}`}{doc.counts && ` · ${countsText(doc.counts)}`}</span>
    </div>
  );
}

/** The evidence of the selected row. */
export function Panel({ row, doc, params, close }: { row: Exclude<Row, { is: 'fold' }>; doc: ReportDocument; params: URLSearchParams | undefined; close: () => void }) {
  const ref = useRef<HTMLElement>(null);
  const b = row.is === 'change' ? row.c : row.b;
  const of = (d: ReportDocument) =>
    d.benchmarks.find(x => keyOf(x) === keyOf(b) && (row.is !== 'change' || x.type === row.c.type)) ?? d.benchmarks.find(x => keyOf(x) === keyOf(b));
  const q = new URLSearchParams(params);
  const service = row.is === 'change' ? row.c.sides?.service : row.service;
  for (const [name, value] of service ? ([['service', service]] as const) : ([['group', b.group ?? ''], ['benchmark', b.benchmark]] as const)) q.set(name, value);
  if (!b.group || service) q.delete('group');
  const answer = useLoad<ReportDocument>(`evidence?${q}`, o => (source.value.offline || !params ? Promise.resolve(doc) : source.value.get<ReportDocument>('report', queryOf(q), o)));
  useEffect(() => {
    if (matchMedia('(max-width: 900px)').matches) ref.current?.scrollIntoView({ block: 'start' });
  }, []);
  return (
    <aside class="panel" ref={ref} aria-label="Evidence">
      <div class="head">
        <h2>{row.is === 'change' ? <Title c={row.c} /> : visible(benchmarkName(b))}</h2>
        <button type="button" aria-label="Close" onClick={close}>
          ×
        </button>
      </div>
      {row.is === 'change' && <FindingEvidence row={row.c} c={answer.value?.changes.find(x => x.id === row.c.id) ?? row.c} b={answer.value && of(answer.value)} light={row.b} />}
      <Await of={answer} what="the evidence">
        {d => {
          const judged = of(d);
          if (!judged) return null;
          return row.is === 'quiet' ? (
            <BenchmarkEvidence b={judged} />
          ) : (
            <details>
              <summary>{`All of ${visible(benchmarkName(b))}`}</summary>
              <BenchmarkEvidence b={judged} />
            </details>
          );
        }}
      </Await>
    </aside>
  );
}

/** On paper the evidence of every finding is below the table. */
const Printed = ({ doc }: { doc: ReportDocument }) => (
  <div class="print">
    {shownChanges(doc, place.value.params).map(c => (
      <section key={c.id}>
        <h2>
          {`${verdict(c)}, ${c.status}: ${signed(c.delta.share, percent)} `}
          <Title c={c} />
        </h2>
        <p>{`${visible(benchmarkName(c))} since ${visible(c.since.run)}`}</p>
        <FindingEvidence c={c} b={doc.benchmarks.find(b => keyOf(b) === keyOf(c) && b.type === c.type)} />
      </section>
    ))}
  </div>
);
