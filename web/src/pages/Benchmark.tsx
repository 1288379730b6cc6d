// A benchmark over its runs: the metric with its band, the changes of the list, and the runs.
import type { ComponentChildren } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import type { History, HistorySeries } from '../core/answers';
import { counted, instant, percent, rounded, signed, visible } from '../core/format';
import { benchmarkName, change, metric } from '../core/metric';
import { carried } from '../core/scope';
import { href, place, update } from '../core/url';
import { Crumbs } from '../ui/Crumbs';
import { Commit } from '../ui/Commit';
import { ChangesOfSeries, HistoryPlot, opening } from '../ui/History';
import { Await, useAnswer } from '../ui/Load';
import { ofBranch, OutcomeText } from '../ui/Outcome';
import { Page } from '../ui/Page';
import { Pickers } from '../ui/Pickers';
import { type InScope, Scoped } from '../ui/Scoped';
import { type Column, Table } from '../ui/Table';
import { Tabs } from '../ui/Tabs';
import { amounts, preferred } from '../ui/Typed';
import '../pages.css';
import './benchmarks.css';

const selection = ['group', 'benchmark', 'branch', 'machine', 'since', 'until', 'metric', 'window'];

export default function Benchmark() {
  const { params } = place.value;
  const title = visible(benchmarkName({ group: params.get('group') ?? '', benchmark: params.get('benchmark') ?? '' })) || 'Benchmarks';
  return (
    <Scoped title={title} names={selection}>
      {known => <Chosen title={title} {...known} />}
    </Scoped>
  );
}

function Chosen({ title, scope, params: asked }: InScope & { title: string }) {
  const answer = useAnswer<History>('history', asked);
  return (
    <Page
      title={title}
      crumbs={<Crumbs of={new URLSearchParams([...asked].filter(([name]) => name === 'group'))} />}
      actions={<Pickers scope={scope} show={['branch', 'metric', 'machine', 'since']} />}
      sub={answer.value && answer.value.series.length === 1 && about(answer.value.series[0]!)}
    >
      <Tabs />
      <Await of={answer} what="the runs">
        {h =>
          h.series.length === 0 ? (
            <NoMetric params={asked} types={scope.choices.types} />
          ) : (
            <>
              {h.series.map(s => (
                <One key={benchmarkName(s)} s={s} alone={h.series.length === 1} />
              ))}
              {h.series.length === 1 && (
                <>
                  <Others names={scope.choices.metrics.filter(m => m !== h.series[0]!.metric)} params={asked} />
                  <Amounts types={amounts(scope.choices.types).filter(t => `${t}/op` !== h.series[0]!.metric)} params={asked} />
                </>
              )}
            </>
          )
        }
      </Await>
    </Page>
  );
}

/** The other metrics of the benchmark, each over the same runs. */
function Others({ names, params }: { names: readonly string[]; params: URLSearchParams }) {
  if (names.length === 0) return null;
  return (
    <section class="findings">
      <h2>Other metrics</h2>
      <div class="plots">
        {names.slice(0, 12).map(name => (
          <Other key={name} name={name} params={params} of={{ metric: name }}>
            <button type="button" class="plainbutton" onClick={() => update({ metric: name }, true)}>
              {visible(name)}
            </button>
          </Other>
        ))}
      </div>
      {names.length > 12 && <p class="dim">{`${names.length - 12} more: choose one above.`}</p>}
    </section>
  );
}

/** What the benchmark used of each value type, per operation where operations are known. */
function Amounts({ types, params }: { types: readonly string[]; params: URLSearchParams }) {
  if (types.length === 0) return null;
  const of = { group: params.get('group'), benchmark: params.get('benchmark') };
  return (
    <section class="findings">
      <h2>Amounts of the profiles</h2>
      <div class="plots">
        {types.slice(0, 12).map(type => (
          <Other key={type} name={type} params={params} of={{ type, amount: 'true', metric: '' }}>
            <a href={href('profile', { ...carried(), ...of, type })} title={`the merged profile of ${visible(type)}`}>
              {visible(type)}
            </a>
          </Other>
        ))}
      </div>
    </section>
  );
}

/** A number over the runs, small: a metric, or the amount of a value type. */
function Other({ name, params, of, children }: { name: string; params: URLSearchParams; of: Record<string, string>; children: ComponentChildren }) {
  const q = new URLSearchParams(params);
  for (const [k, v] of Object.entries(of)) v ? q.set(k, v) : q.delete(k);
  const answer = useAnswer<History>('history', q);
  return (
    <figure class="card">
      <Await of={answer} what={name}>
        {h => {
          const s = h.series[0];
          const last = s?.runs.findLast(r => r.value !== null);
          if (!s || !last) return <p class="dim">{`${visible(name)}: no run has it`}</p>;
          return (
            <>
              <figcaption>
                {children} <b>{metric(last.value!, s.unit)}</b>{' '}
                <span class={tone(s, s.runs.indexOf(last))}>{against(s, last)}</span>
              </figcaption>
              <HistoryPlot s={s} height={120} />
            </>
          );
        }}
      </Await>
    </figure>
  );
}

function about(s: HistorySeries): string {
  const last = s.runs[s.runs.length - 1];
  return [
    `${s.metric}, ${counted(s.runs.length, 'run')}`,
    last?.branch && `branch ${last.branch}`,
    last?.machine && `machine ${last.machine}`,
    ...s.leftOut.map(x => `${counted(x.runs, 'run')} left out: ${x.reason}`),
  ]
    .filter(Boolean)
    .join(', ');
}

function One({ s, alone }: { s: HistorySeries; alone: boolean }) {
  const types = [...new Set(s.runs.flatMap(r => r.profiles.map(p => p.type)))].sort();
  const type = preferred(types);
  const at = { group: s.group, benchmark: s.benchmark, type };
  const open = opening(at, s.runs);
  const several = s.runs.length > 1;
  return (
    <section class="findings">
      {!alone && (
        <h2>
          <a href={href('benchmark', { group: s.group, benchmark: s.benchmark })}>{visible(benchmarkName(s))}</a>
        </h2>
      )}
      {s.outcome && (
        <p class={s.outcome.finding ? 'card change' : ''}>
          <span>
            <a href={href('home', { ...carried(), group: s.group, benchmark: s.benchmark })}>{ofBranch(s.outcome) ? `Compared with ${visible(s.outcome.baseBranch!)}` : 'Newest runs'}</a>: <OutcomeText o={s.outcome} />
          </span>
        </p>
      )}
      <div class={alone && several ? 'columns' : ''}>
        {several && (
          <div class="card">
            <HistoryPlot s={s} onChoose={open} height={alone && innerWidth > 1300 ? Math.max(260, Math.min(440, 24 * s.runs.length)) : 260} />
          </div>
        )}
        {alone && (
          <div class="findings">
            <Runs s={s} type={type} open={i => open(i, i)} />
          </div>
        )}
      </div>
      <ChangesOfSeries s={s} />
    </section>
  );
}

function Runs({ s, type, open }: { s: HistorySeries; type: string; open: (i: number) => void }) {
  const chosen = place.value.params.getAll('compare');
  const [selected, select] = useState(-1);
  const rows = useMemo(() => s.runs.map((r, i) => ({ ...r, i })).reverse(), [s]);
  const toggle = (run: string) => {
    const list = chosen.includes(run) ? chosen.filter(r => r !== run) : [...chosen, run].slice(-2);
    update({ compare: list });
  };
  const order = (run: string) => s.runs.findIndex(r => r.run === run);
  const [base, next] = [...chosen].sort((a, b) => order(a) - order(b));
  const columns: Column[] = [
    {
      id: 'compare',
      title: '',
      hint: 'choose two runs to compare',
      width: 36,
      cell: i => (
        <input
          type="checkbox"
          aria-label={`Compare ${rows[i]!.run}`}
          checked={chosen.includes(rows[i]!.run)}
          onClick={e => (e.stopPropagation(), toggle(rows[i]!.run))}
        />
      ),
    },
    {
      id: 'run',
      title: 'Run',
      text: i => rows[i]!.run,
      cell: i => <a href={href('profile', { group: s.group, benchmark: s.benchmark, type, run: rows[i]!.run })}>{visible(rows[i]!.run)}</a>,
    },
    { id: 'date', title: 'Date (UTC)', width: 140, optional: 1, cell: i => instant(rows[i]!.date) },
    { id: 'commit', title: 'Commit', width: 110, optional: 2, cell: i => <Commit of={rows[i]!} /> },
  ];
  const value = (i: number) => (rows[i]!.value === null ? '' : metric(rows[i]!.value!, s.unit));
  const values: Column[] = [
    {
      id: 'value',
      title: s.metric,
      width: 120,
      numeric: true,
      text: value,
      cell: value,
    },
    {
      id: 'mean',
      title: 'Against mean',
      hint: 'of the runs before; coloured outside of two standard deviations',
      width: 180,
      text: i => (rows[i]!.i > 0 ? against(s, rows[i]!) : ''),
      numeric: true,
      class: i => tone(s, rows[i]!.i),
      cell: i => (rows[i]!.i > 0 ? against(s, rows[i]!) : ''),
    },
  ];
  return (
    <>
      <div class="head">
        <h2>Runs</h2>
        <div class="actions">
          {s.runs.length > 1 && (
            <a class="button" href={href('profile', { ...(s.runs[0]!.branch ? { branch: s.runs[0]!.branch } : {}), ...carried(), group: s.group, benchmark: s.benchmark, type })}>
              {`Profile of all ${s.runs.length} runs`}
            </a>
          )}
          {base && next ? (
            <a
              class="button primary"
              href={href('diff', { group: s.group, benchmark: s.benchmark, type, 'base-run': base, 'head-run': next })}
            >
              {`Compare ${visible(base)} with ${visible(next)}`}
            </a>
          ) : (
            s.runs.length > 1 && <span class="dim">Open a run to see its profile. Choose two, or drag over the chart, to compare.</span>
          )}
        </div>
      </div>
      <Table
        fitted
        label="Runs"
        rows={rows.length}
        columns={[...columns, ...(s.metric ? values : [])].filter(c => rows.length > 1 || (c.id !== 'compare' && c.id !== 'mean'))}
        rowKey={i => rows[i]!.run}
        selected={selected}
        onSelect={select}
        onOpen={i => open(rows[i]!.i)}
      />
    </>
  );
}

/** How a run differs from the mean of those before, as an amount and a share of it: "+270 µs/op, +59%". */
function against(s: HistorySeries, r: HistorySeries['runs'][number]): string {
  if (r.value === null || !r.mean || r.value === r.mean) return '';
  const noise = 2 * r.deviation;
  const amount = rounded(r.value - r.mean, noise);
  return amount === 0 ? '±0' : `${change(amount, s.unit)}, ${signed(r.value / r.mean - 1, x => percent(x, noise / r.mean))}`;
}

function tone(s: HistorySeries, i: number): string {
  const r = s.runs[i]!;
  if (r.value === null || r.deviation === 0 || Math.abs(r.value - r.mean) <= 2 * r.deviation) return 'dim';
  return r.value > r.mean === (s.better !== 'higher') ? 'more' : 'less';
}

/** Benchmarks without a metric: the amounts of their profiles over the runs. */
function NoMetric({ params, types }: { params: URLSearchParams; types: readonly string[] }) {
  const q = new URLSearchParams(params);
  q.set('amount', 'true');
  q.delete('metric');
  const answer = useAnswer<History>('history', q);
  return (
    <>
      <p class="dim">
        No run has a metric. Import one with the profile: <code>dendro import --metric time/op=7.4ms/op …</code>, or let <code>dendro import</code> read Go
        benchmark text or JMH results beside the profiles.
      </p>
      <Await of={answer} what="the runs">
        {h => (
          <>
            {h.series.map(s => (
              <One key={benchmarkName(s)} s={s} alone={h.series.length === 1} />
            ))}
            {h.series.length === 1 && <Amounts types={amounts(types).filter(t => t !== h.series[0]!.type)} params={params} />}
          </>
        )}
      </Await>
    </>
  );
}
