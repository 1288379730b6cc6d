// The parts of a report beside the table of what changed: all metrics, how it was compared,
// and what the columns mean.
import type { MetricRow, MetricSide, ReportDocument } from '../core/answers';
import { percent, signed, visible } from '../core/format';
import { benchmarkName, metric } from '../core/metric';
import { Plain, Terms } from './Plain';

/** Every metric of both sides, a table per metric. */
export function Metrics({ doc }: { doc: ReportDocument }) {
  const { rows, means } = doc.metrics;
  if (rows.length === 0) return null;
  const keys = [...new Set(rows.map(r => JSON.stringify([r.metric, r.unit])))];
  return (
    <section class="card">
      <h2>{`Metrics (${rows.filter(r => r.significant).length} of ${rows.length} changed significantly)`}</h2>
      {rows.some(r => !r.significant) && <p class="dim">~ is no significant change.</p>}
      {keys.map(key => {
        const is = (r: { metric: string; unit: string }) => JSON.stringify([r.metric, r.unit]) === key;
        const list = rows.filter(is);
        const mean = means.find(is);
        return (
          <Plain
            key={key}
            rows={list}
            columns={[
              { title: visible(list[0]!.metric), cell: r => visible(benchmarkName(r)) },
              { title: 'Base', numeric: true, cell: r => side(r.base, r.unit) },
              { title: 'Head', numeric: true, cell: r => side(r.head, r.unit) },
              {
                title: 'Change',
                numeric: true,
                class: tint,
                tip: r => r.reason,
                cell: r => (!r.significant ? <abbr title="no significant change">~</abbr> : `${r.fails ? 'FAIL ' : ''}${r.base.median === 0 ? 'from 0' : signed(r.change, percent)}`),
              },
              { title: 'p', hint: 'the probability that chance makes such a difference (Mann and Whitney, two-sided)', numeric: true, cell: r => r.p.toFixed(3) },
              { title: 'Values', numeric: true, cell: r => (r.base.values === r.head.values ? r.base.values : `${r.base.values}+${r.head.values}`) },
            ]}
            sum={mean && ['geometric mean', mean.base > 0 && metric(mean.base, mean.unit), mean.head > 0 && metric(mean.head, mean.unit), signed(mean.change, percent), '', '']}
          />
        );
      })}
    </section>
  );
}

/** A median with the larger half of its interval. */
function side(s: MetricSide, unit: string): string {
  const text = metric(s.median, unit);
  if (s.low === null || s.high === null) return text;
  const half = s.median === 0 ? 0 : Math.max(s.median - s.low, s.high - s.median) / Math.abs(s.median);
  return `${text} ± ${(100 * half).toFixed(0)}%`;
}

function tint(r: MetricRow): string {
  if (!r.significant) return 'dim';
  return r.head.median > r.base.median === (r.better !== 'higher') ? 'more' : 'less';
}

export function Parameters({ doc }: { doc: ReportDocument }) {
  return (
    <section class="card findings">
      <h2>How it was compared</h2>
      <Terms of={doc.parameters.map(p => [visible(p.name), visible(p.value)])} />
    </section>
  );
}

export function Legend() {
  return (
    <section class="card">
      <h2>How to read it</h2>
      <ul>
        <li>
          Plots: the line is the value of each run, the dashed line the mean of up to 10 runs before it, the band two standard deviations
          around that mean (--band).
        </li>
        <li>
          Shares are of the program's own samples. Expected is the mean of the history, measured the mean of the tested runs; red grew, blue
          shrank, grey is within noise.
        </li>
        <li>The score is on the scale of a standard normal distribution. A finding needs a score above the threshold of its benchmark.</li>
        <li>Candidates without a finding are ranked for people who look for causes; they are not proven changes.</li>
      </ul>
    </section>
  );
}
