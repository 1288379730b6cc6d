// A number over runs: its plot with band and the changes of the list, and a table of them.
import { useMemo, useState } from 'preact/hooks';
import type { Finding, HistorySeries } from '../core/answers';
import { counted, instant, percent, signed, visible } from '../core/format';
import { benchmarkName, change, metric } from '../core/metric';
import { go } from '../core/url';
import { axisOf, Band, type Mark } from './Band';
import { Commit } from './Commit';
import { costs, diffLink, Title } from './Evidence';
import { Plain } from './Plain';

/** The series to draw of a function: its cost per operation or by the metric where it is known, else its share. */
export const drawn = (s: HistorySeries): HistorySeries =>
  s.costBand
    ? { ...s, metric: 'Cost', unit: s.costUnit!, runs: s.runs.map(r => ({ ...r, value: r.cost!, mean: r.costMean ?? 0, deviation: r.costDeviation ?? 0 })) }
    : s;

export const valueOf = (s: HistorySeries) => (v: number) => (s.unit === 'share' ? percent(v) : metric(v, s.unit));

/** "slower, confirmed", "faster, ended". */
const verdict = (f: Finding): string => `${costs(f) ? 'slower' : 'faster'}, ${f.change?.state ?? f.status}`;

/** Plots a series with its changes. */
export function HistoryPlot({ s, onSelect, height = 260 }: { s: HistorySeries; onSelect?: (run: number) => void; height?: number }) {
  const { series, axis, marks } = useMemo(() => {
    const marks: Mark[] = [];
    const mark = (run: string, label: string, worse: boolean) => {
      const index = s.runs.findIndex(r => r.run === run);
      if (index >= 0 && !marks.some(m => m.index === index)) marks.push({ index, label, kind: worse ? 'worse' : 'better' });
    };
    for (const f of s.changes) {
      mark(f.since.run, `${verdict(f)}: ${signed(f.delta.share, percent)} since ${f.since.run}`, costs(f));
      if (f.change?.end) mark(f.change.end.run, `${signed(f.delta.share, percent)} ended with ${f.change.end.run}`, !costs(f));
    }
    return {
      series: {
        x: s.runs.map((_, i) => i),
        values: s.runs.map(r => r.value),
        mean: s.runs.map(r => r.mean),
        low: s.runs.map(r => Math.max(0, r.mean - 2 * r.deviation)),
        high: s.runs.map(r => r.mean + 2 * r.deviation),
      },
      axis: axisOf(s.runs),
      marks,
    };
  }, [s]);
  return (
    <Band
      label={`${s.metric || 'Share'} of ${benchmarkName(s)} over ${s.runs.length} runs`}
      series={series}
      {...axis}
      marks={marks}
      height={height}
      format={valueOf(s)}
      {...(onSelect ? { onSelect } : {})}
    />
  );
}

/** The changes of the list, newest first, each with the diff of its sides. */
export function ChangesOfSeries({ s }: { s: HistorySeries }) {
  if (s.changes.length === 0) return null;
  return (
    <Plain
      caption="Changes"
      rows={s.changes}
      columns={[
        { title: 'Verdict', class: f => (f.status === 'ended' ? 'dim' : costs(f) ? 'more' : 'less'), cell: verdict },
        { title: 'Change', numeric: true, cell: f => signed(f.delta.share, percent) },
        { title: 'Per operation', numeric: true, cell: f => (f.delta.time ? change(f.delta.time.value, f.delta.time.unit) : '–') },
        { title: 'Function of yours, and its call', cell: f => <Title c={f} short /> },
        {
          title: 'Since',
          cell: f => (
            <>
              {visible(f.since.run)} <small class="dim">{f.change?.onset.date ? instant(f.change.onset.date) : ''}</small> <Commit of={{ ...s.runs.find(r => r.run === f.since.run), ...(f.since.commit ? { commit: f.since.commit } : {}) }} />
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
          <HistoryPlot s={shows} height={180} onSelect={i => go('profile', { ...at, run: s.runs[i]!.run })} />
          <ChangesOfSeries s={s} />
        </div>
      )}
    </details>
  );
}
