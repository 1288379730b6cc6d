// The first page of an offline report: findings, benchmarks, how it was compared.

import { useEffect } from 'preact/hooks';
import type { ReportDocument } from '../core/answers';
import { visible } from '../core/format';
import { Findings } from '../ui/Finding';
import { Await, useAnswer } from '../ui/Load';
import { Page } from '../ui/Page';
import { Benchmarks, Legend, Metrics, Parameters } from '../ui/ReportParts';
import '../pages.css';

export default function Report() {
  const answer = useAnswer<ReportDocument>('report');
  usePrint();
  const doc = answer.value;
  const about = doc?.parameters
    .filter(p => ['benchmark', 'branch', 'commits', 'base', 'head'].includes(p.name))
    .map(p => `${p.name} ${p.value}`);
  return (
    <Page title={doc ? doc.headline.charAt(0).toUpperCase() + doc.headline.slice(1) : 'Report'} sub={about && visible(about.join(' · '))}>
      <Await of={answer} what="the report">
        {doc => (
          <>
            <Findings doc={doc} />
            {doc.changes.length === 0 && (
              <div class="empty">
                <p>Nothing became slower or faster beyond noise.</p>
              </div>
            )}
            <Metrics doc={doc} />
            <Benchmarks doc={doc} />
            <Parameters doc={doc} />
            <Legend />
          </>
        )}
      </Await>
    </Page>
  );
}

/** Opens everything for printing: closed parts are not printed. */
function usePrint(): void {
  useEffect(() => {
    let opened: HTMLDetailsElement[] = [];
    const before = () => {
      opened = [...document.querySelectorAll<HTMLDetailsElement>('main details:not([open]):not(.rest)')];
      for (const d of opened) d.open = true;
    };
    const after = () => {
      for (const d of opened) d.open = false;
    };
    addEventListener('beforeprint', before);
    addEventListener('afterprint', after);
    return () => {
      removeEventListener('beforeprint', before);
      removeEventListener('afterprint', after);
    };
  }, []);
}
