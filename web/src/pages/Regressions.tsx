// What became slower, most expensive first, with the evidence.
import type { ReportDocument } from '../core/answers';
import { counted } from '../core/format';
import { type Options, source } from '../core/source';
import { href, place } from '../core/url';
import { accepted, setAccepted } from '../ui/Acknowledge';
import { Findings } from '../ui/Finding';
import { Await } from '../ui/Load';
import { Page } from '../ui/Page';
import { Benchmarks } from '../ui/ReportParts';
import { TypeChoice, useTyped } from '../ui/Typed';
import '../pages.css';

const selection = ['group', 'benchmark', 'branch', 'machine', 'type', 'last', 'since', 'until', 'run'];

export default function Regressions() {
  const params = new URLSearchParams([...place.value.params].filter(([k]) => selection.includes(k)));
  const entries = accepted.value;
  const body = entries.length > 0 ? { facts: { acknowledged: entries } } : undefined;
  const answer = useTyped<ReportDocument>(
    'report',
    params,
    body && ((p, o: Options) => source.value.send<ReportDocument>('POST', 'report', p, body, o)),
    JSON.stringify(entries),
  );
  return (
    <Page
      title="Regressions"
      sub={answer.value && headline(answer.value)}
      actions={
        <>
          <TypeChoice types={answer.types} type={answer.type} />
          {entries.length > 0 && (
            <button type="button" onClick={() => setAccepted([])}>
              {`Forget ${counted(entries.length, 'accepted change')} of this browser`}
            </button>
          )}
          {answer.value && (
            <>
              <a class="button" href={source.value.file('report', withFormat(params, answer.type, 'html'))} download="report.html">
                Report as a file
              </a>
              <a class="button" href={source.value.file('report', withFormat(params, answer.type, 'md'))} download="report.md">
                Markdown
              </a>
            </>
          )}
        </>
      }
    >
      <Await of={answer} what="regressions">
        {doc => (
          <>
            {doc.benchmarks.length === 0 ? (
              <div class="empty">
                <p>Nothing to compare yet.</p>
                <p>
                  A comparison needs at least two runs of a benchmark: <code>dendro import --run NAME --benchmark NAME profile.pb.gz</code>,
                  or drop profiles on the <a href={href('home')}>home page</a>.
                </p>
              </div>
            ) : (
              doc.changes.length === 0 && (
                <div class="empty">
                  <p>Nothing became slower or faster beyond noise.</p>
                </div>
              )
            )}
            <Findings doc={doc} />
            <Benchmarks doc={doc} />
          </>
        )}
      </Await>
    </Page>
  );
}

function headline(doc: ReportDocument): string {
  return doc.headline.charAt(0).toUpperCase() + doc.headline.slice(1);
}

function withFormat(params: URLSearchParams, type: string, format: string): URLSearchParams {
  const p = new URLSearchParams(params);
  if (type) p.set('type', type);
  p.set('format', format);
  return p;
}
