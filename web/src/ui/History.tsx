// A number over runs: its plot with band and lasting changes, and the list of them.
import { useMemo } from 'preact/hooks';
import type { HistorySeries, Outcome } from '../core/answers';
import { instant, percent, relative, visible } from '../core/format';
import { benchmarkName, metric } from '../core/metric';
import { href } from '../core/url';
import { Band, type Mark } from './Band';
import { Commit } from './Commit';

export const valueOf = (s: HistorySeries) => (v: number) => (s.unit === 'share' ? percent(v) : metric(v, s.unit));

/** Plots a series; with an outcome its onset is marked too, which need not be a lasting change yet. */
export function HistoryPlot({ s, outcome, onSelect, height = 260 }: { s: HistorySeries; outcome?: Outcome | undefined; onSelect?: (run: number) => void; height?: number }) {
  const { series, names, marks } = useMemo(() => {
    const marks: Mark[] = s.steps.map(x => ({
      index: s.runs.findIndex(r => r.run === x.run),
      label: `${relative(x.before, x.after)} since ${x.run}`,
      kind: x.status === 'slower' ? 'worse' : 'better',
    }));
    const onset = s.runs.findIndex(r => r.run === outcome?.since?.run);
    if (onset >= 0 && !marks.some(m => m.index === onset))
      marks.push({ index: onset, label: `${outcome!.status} since ${outcome!.since!.run}`, kind: outcome!.status === 'slower' ? 'worse' : 'better' });
    return {
      series: {
        x: s.runs.map((_, i) => i),
        values: s.runs.map(r => r.value),
        mean: s.runs.map(r => r.mean),
        low: s.runs.map(r => Math.max(0, r.mean - 2 * r.deviation)),
        high: s.runs.map(r => r.mean + 2 * r.deviation),
      },
      names: s.runs.map(r => visible(r.run)),
      marks,
    };
  }, [s, outcome]);
  return (
    <Band
      label={`${s.metric || 'Share'} of ${benchmarkName(s)} over ${s.runs.length} runs`}
      series={series}
      names={names}
      marks={marks}
      height={height}
      format={valueOf(s)}
      {...(onSelect ? { onSelect } : {})}
    />
  );
}

/** The lasting changes, newest first, each with the diff of the runs on both sides. */
export function Steps({ s, type }: { s: HistorySeries; type: string }) {
  if (s.steps.length === 0) return null;
  const value = valueOf(s);
  const between = (x: HistorySeries['steps'][number], i: number) => {
    const at = s.runs.findIndex(r => r.run === x.run);
    const from = Math.max(0, at - 5, i > 0 ? s.runs.findIndex(r => r.run === s.steps[i - 1]!.run) : 0);
    const to = Math.min(
      s.runs.length,
      at + 5,
      i + 1 < s.steps.length ? s.runs.findIndex(r => r.run === s.steps[i + 1]!.run) : s.runs.length,
    );
    const keys = (list: HistorySeries['runs']) => list.map(r => r.run);
    return {
      group: s.group,
      benchmark: s.benchmark,
      type,
      'base-run': keys(s.runs.slice(from, at)),
      'new-run': keys(s.runs.slice(at, to)),
    };
  };
  return (
    <div class="scroll">
      <table class="plain">
        <caption class="hidden">Lasting changes</caption>
        <thead>
          <tr>
            <th>Lasting change</th>
            <th class="num">Before</th>
            <th class="num">After</th>
            <th>Since</th>
            <th>Commit</th>
            <th>What grew</th>
          </tr>
        </thead>
        <tbody>
          {s.steps
            .map((x, i) => (
              <tr key={x.run}>
                <td class={x.status === 'slower' ? 'more' : 'less'}>
                  {x.before === 0 ? 'new' : x.after === 0 ? 'vanished' : `${relative(x.before, x.after)} ${x.status}`}
                </td>
                <td class="num">{value(x.before)}</td>
                <td class="num">{value(x.after)}</td>
                <td>
                  {visible(x.run)} <small class="dim">{x.date ? instant(x.date) : ''}</small>
                </td>
                <td>
                  <Commit of={{ ...s.runs.find(r => r.run === x.run), ...x }} />
                </td>
                <td>
                  <a href={href('diff', between(x, i))}>Diff of the runs before and after</a>
                </td>
              </tr>
            ))
            .reverse()}
        </tbody>
      </table>
    </div>
  );
}
