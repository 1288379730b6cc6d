// A number over runs: its plot with band and the changes of the list, and a table of them.
import { useMemo, useState } from 'preact/hooks';
import type { HistorySeries } from '../core/answers';
import { counted, instant, percent, signed, visible } from '../core/format';
import { benchmarkName, metric } from '../core/metric';
import { type Changes, go } from '../core/url';
import { Commit } from './Commit';
import { changeColumns, costs, diffLink, Title, verdict } from './Evidence';
import { Plain } from './Plain';
import { axisOf, banded, type Mark, Plot } from './Plot';

/** The series to draw of a function: its cost per operation or by the metric where it is known, else its share. */
export const drawn = (s: HistorySeries): HistorySeries =>
  s.costBand
    ? { ...s, metric: 'Cost', unit: s.costUnit!, runs: s.runs.map(r => ({ ...r, value: r.cost!, mean: r.costMean ?? 0, deviation: r.costDeviation ?? 0 })) }
    : s;

export const valueOf = (s: HistorySeries) => (v: number) => (s.unit === 'share' ? percent(v) : metric(v, s.unit));

/** Opens the run that was clicked, or compares the ends of a drag. */
export const opening = (at: Changes, runs: readonly { run: string }[]) => (from: number, to: number) =>
  from === to ? go('profile', { ...at, run: runs[from]!.run }) : go('diff', { ...at, 'base-run': runs[from]!.run, 'head-run': runs[to]!.run });

/** Plots a series with its changes. */
export function HistoryPlot({ s, onChoose, height = 260 }: { s: HistorySeries; onChoose?: ReturnType<typeof opening>; height?: number }) {
  const plot = useMemo(() => {
    const marks: Mark[] = [];
    const mark = (run: string, label: string, worse: boolean) => {
      const index = s.runs.findIndex(r => r.run === run);
      if (index >= 0 && !marks.some(m => m.index === index)) marks.push({ index, label, kind: worse ? 'worse' : 'better' });
    };
    for (const f of s.changes) {
      mark(f.since.run, `${verdict(f)}, ${f.change?.state ?? f.status}: ${signed(f.delta.share, percent)} since ${f.since.run}`, costs(f));
      if (f.change?.end) mark(f.change.end.run, `${signed(f.delta.share, percent)} ended with ${f.change.end.run}`, !costs(f));
    }
    return { ...banded(s.runs.map(r => r.value), s.runs), ...axisOf(s.runs), marks };
  }, [s]);
  return <Plot label={`${s.metric || 'Share'} of ${benchmarkName(s)} over ${s.runs.length} runs`} {...plot} height={height} format={valueOf(s)} onChoose={onChoose} />;
}

/** The changes of the list, newest first, each with the diff of its sides. */
export function ChangesOfSeries({ s }: { s: HistorySeries }) {
  if (s.changes.length === 0) return null;
  return (
    <Plain
      caption="Changes"
      rows={s.changes}
      columns={[
        ...changeColumns('Per operation'),
        { title: 'Function of yours, and its call', cell: f => <Title c={f} short /> },
        {
          title: 'Since',
          cell: f => (
            <>
              {visible(f.since.run)} <small class="dim">{instant(f.change?.onset.date)}</small> <Commit of={{ ...s.runs.find(r => r.run === f.since.run), ...(f.since.commit ? { commit: f.since.commit } : {}) }} />
            </>
          ),
        },
        { title: 'Until', cell: f => f.change?.end && visible(f.change.end.run) },
        { title: 'What grew', cell: f => diffLink(f) && <a href={diffLink(f)!} title="of the runs before and after">Diff</a> },
      ]}
    />
  );
}

/** The newest share of a function. */
export const newest = (s: HistorySeries): number => s.runs.findLast(r => r.value !== null)?.value ?? 0;

/** The history of a function in a benchmark, which unfolds. */
export function OfFunction({ s, open }: { s: HistorySeries; open: boolean }) {
  const [shown, show] = useState(open);
  const last = s.runs.findLast(r => r.value !== null);
  const found = s.changes.find(f => f.status !== 'ended');
  const shows = drawn(s);
  const at = { group: s.group, benchmark: s.benchmark, type: s.type };
  return (
    <details class="card" open={open} onToggle={e => show(e.currentTarget.open)}>
      <summary>
        <span class="what">{visible(benchmarkName(s))}</span>
        <span class={`cost ${found ? (costs(found) ? 'more' : 'less') : 'dim'}`}>
          {last && percent(last.value ?? 0)}
          {last?.cost !== undefined && <small> {metric(last.cost, s.costUnit ?? '')}</small>}
        </span>
        <span class="where">{`${found ? `${costs(found) ? 'slower' : 'faster'} since ${visible(found.since.run)}` : 'no open change'}, ${counted(s.runs.length, 'run')}`}</span>
      </summary>
      {shown && (
        <div class="evidence">
          <p class="dim">{shows.costBand ? (shows.unit.endsWith('/op') ? 'Cost per operation' : 'Cost') : 'Share of the program'}</p>
          <HistoryPlot s={shows} height={180} onChoose={opening(at, s.runs)} />
          <ChangesOfSeries s={s} />
        </div>
      )}
    </details>
  );
}
