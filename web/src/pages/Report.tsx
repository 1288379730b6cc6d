// The first page of an offline report: findings, benchmarks, how it was compared.
import type { ReportDocument } from '../core/answers';
import { Embedded, source } from '../core/source';
import { Findings } from '../ui/Finding';
import { Await, useAnswer } from '../ui/Load';
import { Page } from '../ui/Page';
import { Benchmarks, Legend, Parameters } from '../ui/ReportParts';
import '../pages.css';

export default function Report() {
  const answer = useAnswer<ReportDocument>('report');
  const s = source.value;
  const title = s instanceof Embedded && s.data.title ? s.data.title : 'Report';
  return (
    <Page title={title} sub={answer.value?.headline}>
      <Await of={answer} what="the report">
        {doc => (
          <>
            <Findings doc={doc} />
            {doc.changes.length === 0 && (
              <div class="empty">
                <p>Nothing became slower or faster beyond noise.</p>
              </div>
            )}
            <Benchmarks doc={doc} />
            <Parameters doc={doc} />
            <Legend />
          </>
        )}
      </Await>
    </Page>
  );
}
