// A benchmark over its runs: the metric with its band, lasting changes, and the runs.
import { useMemo, useState } from 'preact/hooks';
import type { History, HistorySeries } from '../core/answers';
import { commit, counted, instant, percent, signed, visible } from '../core/format';
import { benchmarkName, metric } from '../core/metric';
import { go, href, place, update } from '../core/url';
import { HistoryPlot, Steps } from '../ui/History';
import { Await, useAnswer } from '../ui/Load';
import { OutcomeText } from '../ui/Outcome';
import { Page } from '../ui/Page';
import { type Column, Table } from '../ui/Table';
import { preferred } from '../ui/Typed';
import type { Run } from './Profile';
import '../pages.css';

const selection = ['group', 'benchmark', 'branch', 'machine', 'since', 'until', 'metric', 'window'];

export default function Benchmark() {
  const asked = new URLSearchParams([...place.value.params].filter(([k]) => selection.includes(k)));
  const name = asked.get('benchmark') ?? '';
  const answer = useAnswer<History>('history', asked);
  const title = benchmarkName({ group: asked.get('group') ?? '', benchmark: name });
  return (
    <Page
      title={title ? visible(title) : 'Benchmarks'}
      sub={answer.value && answer.value.series.length === 1 && about(answer.value.series[0]!)}
    >
      <Await of={answer} what="the runs">
        {h =>
          h.series.length === 0 ? (
            <NoMetric params={asked} />
          ) : (
            <>
              {h.series.map(s => (
                <One key={benchmarkName(s)} s={s} alone={h.series.length === 1} />
              ))}
            </>
          )
        }
      </Await>
    </Page>
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
  const open = (i: number) => go('profile', { ...at, run: s.runs[i]!.run });
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
            <a href={href('regressions', { group: s.group, benchmark: s.benchmark })}>Newest runs</a>: <OutcomeText o={s.outcome} />
          </span>
        </p>
      )}
      <div class="card">
        <HistoryPlot s={s} onSelect={open} />
      </div>
      <Steps s={s} type={type} />
      {alone && <Runs s={s} type={type} open={open} />}
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
      cell: i => <a href={href('profile', { group: s.group, benchmark: s.benchmark, type, run: rows[i]!.run })}>{visible(rows[i]!.run)}</a>,
    },
    { id: 'date', title: 'Date', width: 140, cell: i => (rows[i]!.date ? instant(rows[i]!.date!) : '') },
    { id: 'commit', title: 'Commit', width: 110, cell: i => <code>{commit(rows[i]!.commit ?? '')}</code> },
  ];
  const values: Column[] = [
    {
      id: 'value',
      title: s.metric,
      width: 120,
      numeric: true,
      cell: i => (rows[i]!.value === null ? '' : metric(rows[i]!.value!, s.unit)),
    },
    {
      id: 'mean',
      title: 'Against mean',
      hint: 'of the runs before; coloured outside of two standard deviations',
      width: 130,
      numeric: true,
      class: i => tone(s, rows[i]!.i),
      cell: i => {
        const r = rows[i]!;
        return r.value !== null && r.mean && r.i > 0 ? signed(r.value / r.mean - 1, percent) : '';
      },
    },
  ];
  return (
    <>
      <div class="head">
        <h2>Runs</h2>
        <div class="actions">
          {base && next ? (
            <a
              class="button primary"
              href={href('diff', { group: s.group, benchmark: s.benchmark, type, 'base-run': base, 'new-run': next })}
            >
              {`Compare ${visible(base)} with ${visible(next)}`}
            </a>
          ) : (
            <span class="dim">Open a run to see its profile, or choose two to compare.</span>
          )}
        </div>
      </div>
      <div class="tall">
        <Table
          label="Runs"
          rows={rows.length}
          columns={s.metric ? [...columns, ...values] : columns}
          rowKey={i => rows[i]!.run}
          selected={selected}
          onSelect={select}
          onOpen={i => open(rows[i]!.i)}
        />
      </div>
    </>
  );
}

function tone(s: HistorySeries, i: number): string {
  const r = s.runs[i]!;
  if (r.value === null || r.deviation === 0 || Math.abs(r.value - r.mean) <= 2 * r.deviation) return 'dim';
  return r.value > r.mean === (s.better !== 'higher') ? 'more' : 'less';
}

/** Benchmarks without a metric still have runs with profiles. */
function NoMetric({ params }: { params: URLSearchParams }) {
  const answer = useAnswer<{ rows: { benchmark: { group: string; name: string }; run: Run; type: { name: string } }[] }>('profiles', params);
  return (
    <>
      <p class="dim">
        No run has a metric. Import one with the profile: <code>dendro import --metric time/op=7.4ms/op …</code>, or let <code>dendro import</code> read Go
        benchmark text or JMH results beside the profiles.
      </p>
      <Await of={answer} what="the runs">
        {({ rows }) =>
          [...new Set(rows.map(r => JSON.stringify(r.benchmark)))].map(name => {
            const list = rows.filter(r => JSON.stringify(r.benchmark) === name);
            const { group, name: benchmark } = list[0]!.benchmark;
            const type = preferred([...new Set(list.map(r => r.type.name))].sort());
            const runs = [...new Map(list.map(r => [r.run.run, r.run])).values()].map(r => ({ ...r, value: null, mean: 0, deviation: 0, profiles: [] }));
            const s: HistorySeries = { group, benchmark, type, metric: '', unit: '', leftOut: [], runs, steps: [] };
            return (
              <section key={name} class="findings">
                <Runs s={s} type={type} open={i => go('profile', { group, benchmark, type, run: runs[i]!.run })} />
                {runs.length > 1 && (
                  <p>
                    <a href={href('profile', { group, benchmark, type })}>{`Profile of all ${runs.length} runs`}</a>
                    {' · '}
                    <a href={href('diff', { group, benchmark, type, last: 1 })}>the newest run against the runs before</a>
                  </p>
                )}
              </section>
            );
          })
        }
      </Await>
    </>
  );
}
