// What the store holds: benchmarks with their last result, services, and what changed.
import { useMemo, useState } from 'preact/hooks';
import type { BenchmarkOverview, Outcome, Overview, ReportDocument } from '../core/answers';
import { commit, count, counted, instant, percent, signed, visible } from '../core/format';
import { ago, benchmarkName, change, metric } from '../core/metric';
import { mayChange } from '../core/session';
import { source } from '../core/source';
import { go, href, place, update } from '../core/url';
import { costs, diffLink, Title } from '../ui/Finding';
import { accepted } from '../ui/Acknowledge';
import { useKeys } from '../ui/Keys';
import { Await, type Loading, useAnswer, useLoad } from '../ui/Load';
import { size, status, tone } from '../ui/Outcome';
import { Page } from '../ui/Page';
import { Spark } from '../ui/Spark';
import { type Column, Table } from '../ui/Table';
import { Upload } from '../ui/Upload';
import '../pages.css';

export default function Home() {
  const [version, again] = useState(0);
  const answer = useAnswer<Overview>('overview', version ? { quick: true, points: 30 } : { quick: true });
  const o = answer.value;
  const words = place.value.params.get('q') ?? '';
  const fits = (...texts: string[]) =>
    words
      .toLowerCase()
      .split(/\s+/)
      .every(w => texts.join(' ').toLowerCase().includes(w));
  useKeys([{ keys: '/', help: 'search', run: () => document.getElementById('search')?.focus() }]);
  return (
    <Page
      title="Overview"
      sub={o && `${counted(o.benchmarks.length, 'benchmark')}, ${counted(o.runs, 'run')}, ${counted(o.profiles, 'profile')}`}
      actions={
        <>
          <input
            id="search"
            type="search"
            placeholder="Search benchmarks and services  /"
            aria-label="Search benchmarks and services"
            value={words}
            onInput={e => update({ q: e.currentTarget.value })}
          />
          <Upload done={() => again(version + 1)} />
        </>
      }
    >
      <Await of={answer} what="the store">
        {store => {
          const benchmarks = words ? store.benchmarks.filter(b => fits(b.group, b.benchmark)) : store.benchmarks;
          const services = store.services.filter(s => fits(s.service));
          if (store.benchmarks.length === 0 && store.services.length === 0) return <Empty />;
          return (
            <>
              {store.running > 0 && (
                <a class="card" href={href('tasks')}>
                  {`${counted(store.running, 'task')} running`}
                </a>
              )}
              {store.benchmarks.length > 0 && <Benchmarks list={benchmarks} version={version} />}
              {services.length > 0 && (
                <section class="findings">
                  <h2>Services</h2>
                  <div class="scroll">
                    <table class="plain">
                      <thead>
                        <tr>
                          <th>Service</th>
                          <th class="num">Instances</th>
                          <th>Last seen</th>
                          <th>Profile a slow endpoint</th>
                        </tr>
                      </thead>
                      <tbody>
                        {services.map(s => (
                          <tr key={s.service}>
                            <td>
                              <a href={href('tasks', { service: s.service })}>{visible(s.service)}</a>
                            </td>
                            <td class="num">{count(s.instances)}</td>
                            <td title={instant(new Date(s.lastSeen).toISOString())}>{ago(s.lastSeen)}</td>
                            <td>{mayChange() && <a href={href('tasks', { service: s.service, create: true })}>New task</a>}</td>
                          </tr>
                        ))}
                      </tbody>
                    </table>
                  </div>
                </section>
              )}
              {benchmarks.length + services.length === 0 && (
                <div class="empty">
                  <p>{`Nothing matches “${words}”.`}</p>
                  <button type="button" onClick={() => update({ q: null })}>
                    Show all
                  </button>
                </div>
              )}
            </>
          );
        }}
      </Await>
    </Page>
  );
}

/** What changed, and the benchmarks that the search leaves. A store without benchmarks has no report. */
function Benchmarks({ list, version }: { list: BenchmarkOverview[]; version: number }) {
  const report = useReport(version);
  return (
    <>
      <Changes report={report} />
      {list.length > 0 && <BenchmarkTable list={list} report={report} />}
    </>
  );
}

/** The findings of all value types that are judged; they are computed while the rest is shown. */
function useReport(version: number): Loading<ReportDocument> {
  const entries = accepted.value;
  const params = { candidates: 0, 'max-depth': 0, changed: true };
  return useLoad<ReportDocument>(JSON.stringify([version, entries]), options =>
    entries.length > 0
      ? source.value.send<ReportDocument>('POST', 'report', params, { facts: { acknowledged: entries } }, options)
      : source.value.get<ReportDocument>('report', params, options),
  );
}

function Changes({ report }: { report: Loading<ReportDocument> }) {
  return (
    <section class="findings">
      <h2>What changed</h2>
      <Await of={report} what="changes">
        {doc => {
          const list = doc.changes.filter(c => (costs(c) || c.kind === 'improvement') && !c.acknowledged && c.status !== 'transient');
          if (list.length === 0)
            return (
              <p class="dim">
                Nothing became slower or faster beyond noise. <a href={href('regressions')}>Details</a>
              </p>
            );
          const several = new Set(doc.benchmarks.map(b => b.type)).size > 1;
          return (
            <>
              {list.slice(0, 5).map(c => {
                const b = doc.benchmarks.find(x => x.group === c.group && x.benchmark === c.benchmark && x.type === c.type);
                return (
                  <div key={c.id} class={`card change ${costs(c) ? 'worse' : ''}`}>
                    <div>
                      <a class="title" href={href('regressions', { group: c.group, benchmark: c.benchmark })}>
                        <Title c={c} />
                      </a>
                      <p class="dim">
                        {several && `${visible(c.type)} of `}
                        {visible(benchmarkName(c))} since {visible(c.since.run)}
                        {c.since.commit && (
                          <>
                            {' '}
                            at <code>{commit(c.since.commit)}</code>
                          </>
                        )}
                      </p>
                    </div>
                    <div class={`num ${costs(c) ? 'more' : 'less'}`}>
                      <b class="big">{c.delta.time ? change(c.delta.time.value, c.delta.time.unit) : signed(c.delta.share, percent)}</b>
                      {c.function || c.headline ? (
                        <a href={diffLink(c, b) ?? href('regressions')}>see the call path</a>
                      ) : (
                        <a href={href('regressions', { group: c.group, benchmark: c.benchmark })}>see the evidence</a>
                      )}
                    </div>
                  </div>
                );
              })}
              {list.length > 5 && <a href={href('regressions')}>{`All ${list.length} changes`}</a>}
            </>
          );
        }}
      </Await>
    </section>
  );
}

/** Three runs before the tested one. */
const leastRuns = 4;

/** What a column of the table sorts by; names ascend, numbers descend first. */
const keys: Record<string, (b: BenchmarkOverview, o?: Outcome) => string | number> = {
  benchmark: b => benchmarkName(b),
  last: b => b.metric?.last ?? -1,
  change: (_, o) => (o?.finding ? (o.share ?? 0) : Number.NEGATIVE_INFINITY),
  status: (_, o) => ({ slower: 3, faster: 2, steady: 1, unknown: 0 })[o?.status ?? 'unknown'],
  runs: b => b.runs,
  newest: b => b.last.date ?? '',
};

function BenchmarkTable({ list, report }: { list: BenchmarkOverview[]; report: Loading<ReportDocument> }) {
  const outcomes = useMemo(() => new Map(report.value?.benchmarks.map(b => [benchmarkName(b), b.outcome])), [report.value]);
  const branches = new Set(list.map(b => b.last.branch)).size > 1;
  const [sort, setSort] = useState({ id: 'benchmark', descending: false });
  const [selected, select] = useState(-1);
  const rows = useMemo(() => {
    const key = keys[sort.id]!;
    const of = list.map(b => ({ b, k: key(b, outcomes.get(benchmarkName(b))) }));
    of.sort((x, y) => (x.k < y.k ? -1 : x.k > y.k ? 1 : 0));
    if (sort.descending) of.reverse();
    return of.map(x => x.b);
  }, [list, sort, outcomes]);
  // The report lists the benchmarks with a change.
  const said = (i: number): Outcome | undefined =>
    outcomes.get(benchmarkName(rows[i]!)) ?? (report.value && { status: rows[i]!.runs < leastRuns ? 'unknown' : 'steady' });
  const at = (b: BenchmarkOverview) => ({ group: b.group, benchmark: b.benchmark });
  const columns: Column[] = [
    {
      id: 'benchmark',
      title: 'Benchmark',
      sortable: true,
      cell: i => (
        <a href={href('benchmark', at(rows[i]!))} title={visible(benchmarkName(rows[i]!))}>
          <span class="pkg">{rows[i]!.group && `${visible(rows[i]!.group)}/`}</span>
          {visible(rows[i]!.benchmark)}
        </a>
      ),
    },
    {
      id: 'spark',
      title: 'Last runs',
      width: 130,
      cell: i => {
        const m = rows[i]!.metric;
        return (
          m && <Spark values={m.values} mark={said(i)?.status === 'slower' ? m.values.length - 1 : -1} label={`${m.name} of the last ${m.values.length} runs`} />
        );
      },
    },
    {
      id: 'last',
      title: 'Last',
      width: 110,
      numeric: true,
      sortable: true,
      cell: i => rows[i]!.metric && metric(rows[i]!.metric!.last, rows[i]!.metric!.unit),
    },
    {
      id: 'change',
      title: 'Change',
      hint: 'size of the most important finding',
      width: 200,
      numeric: true,
      sortable: true,
      class: i => tone(said(i)),
      cell: i => size(said(i)),
    },
    {
      id: 'status',
      title: 'Status',
      width: 190,
      sortable: true,
      cell: i => {
        const o = said(i);
        if (!o) return '…';
        return (
          <span title={o.reason}>
            {status(o)} {o.since && <small class="dim">since {visible(o.since.run)}</small>}
          </span>
        );
      },
      class: i => tone(said(i)),
    },
    { id: 'runs', title: 'Runs', width: 70, numeric: true, sortable: true, cell: i => count(rows[i]!.runs) },
    {
      id: 'newest',
      title: 'Newest run',
      width: 240,
      sortable: true,
      cell: i => (
        <>
          {visible(rows[i]!.last.run)} {branches && rows[i]!.last.branch && <span class="pill">{visible(rows[i]!.last.branch!)}</span>} <small class="dim">{rows[i]!.last.date ? instant(rows[i]!.last.date!) : ''}</small>
        </>
      ),
    },
  ];
  return (
    <section class="findings">
      <h2>Benchmarks</h2>
      <div class="fitted" style={{ '--rows': rows.length }}>
        <Table
          label="Benchmarks"
          rows={rows.length}
          columns={columns}
          rowKey={i => benchmarkName(rows[i]!)}
          sort={sort}
          onSort={id => setSort(s => ({ id, descending: s.id === id ? !s.descending : id !== 'benchmark' }))}
          selected={selected}
          onSelect={select}
          onOpen={i => go('benchmark', at(rows[i]!))}
        />
      </div>
    </section>
  );
}

function Empty() {
  const where = source.value.offline ? '' : location.origin;
  return (
    <div class="empty">
      <h2>This store is empty</h2>
      <p>Drop a profile anywhere on this page to look at it, or import the profiles of your benchmarks:</p>
      <pre class="command" tabIndex={0} aria-label="Command">{`dendro import --store ${where} --run NAME --benchmark NAME cpu.pb.gz`}</pre>
      <p>Or send the traces of your services: give SkyWalking agents this server's gRPC address.</p>
    </div>
  );
}
