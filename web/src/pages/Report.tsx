// The first page of an offline report: findings, benchmarks, how it was compared.
import type { ReportDocument } from '../core/answers';
import { visible } from '../core/format';
import { benchmarkName } from '../core/metric';
import { BenchmarkEvidence } from '../ui/Evidence';
import { Await, useAnswer } from '../ui/Load';
import { Page } from '../ui/Page';
import { Notes } from '../ui/Plain';
import { Legend, Metrics, Parameters } from '../ui/ReportParts';
import { Triage } from '../ui/Triage';
import '../pages.css';

export default function Report() {
  const answer = useAnswer<ReportDocument>('report');
  const doc = answer.value;
  const about = doc?.parameters
    .filter(p => ['benchmark', 'branch', 'commits', 'base', 'head', 'made'].includes(p.name))
    .map(p => `${p.name} ${p.value}`);
  return (
    <Page title={doc ? doc.headline.charAt(0).toUpperCase() + doc.headline.slice(1) : 'Report'} sub={about && visible(about.join(' · '))}>
      <Await of={answer} what="the report">
        {doc => (
          <>
            <Notes of={doc.notes} />
            <Triage doc={doc} />
            <Ranked doc={doc} />
            <Metrics doc={doc} />
            <Parameters doc={doc} />
            <Legend />
          </>
        )}
      </Await>
    </Page>
  );
}

/** The candidates of each benchmark, if a method other than the default one ranks them. */
function Ranked({ doc }: { doc: ReportDocument }) {
  const list = doc.benchmarks.filter(b => b.candidates.some(c => c.method));
  return (
    <>
      {list.map((b, i) => (
        <details key={`${benchmarkName(b)} ${b.type}`} class="card" open={i === 0}>
          <summary>
            <h2>{`Candidates of ${visible(benchmarkName(b))}`}</h2>
          </summary>
          <BenchmarkEvidence b={b} />
        </details>
      ))}
    </>
  );
}
