// Loads what changed in the store, for the first page.
import type { Overview, ReportDocument } from '../core/answers';
import { count } from '../core/format';
import { look, looks } from '../core/looked';
import { Problem, source } from '../core/source';
import { place } from '../core/url';
import { accepted } from './Acknowledge';
import { later } from './Later';
import { Await, type Loading, useAnswer, useLoad } from './Load';
import type { Scope } from './Pickers';
import { Notes } from './Plain';
import { type Listed, Triage } from './Triage';

const Sides = later(() => import('./Sides')); // of a pull request only

/** Without the evidence behind findings. */
const light = { candidates: '0', 'max-depth': '0' };

/** An overview for the number of its benchmarks. */
const number = { quick: 'true', rows: '1' };

interface Asked {
  doc: ReportDocument;
  /** What it is of. */
  params: URLSearchParams;
}

/** The findings of all value types that are judged, without the evidence behind them; of two sides with all benchmarks. */
function useChanges({ params }: Scope, version: number): Loading<Asked> {
  const q = new URLSearchParams(params);
  for (const [name, value] of Object.entries({ ...light, ...(!q.has('base') && { changed: 'true' }) })) q.set(name, value);
  return useLoad<Asked>(params ? JSON.stringify([String(params), accepted.value, version]) : '', async options => {
    const doc = await source.value.get<ReportDocument>('report', q, options);
    if (!q.has('base')) looks.value = look(looks.value, doc.changes.flatMap(c => [c.id, ...c.also.map(x => x.id)]), Date.now());
    return { doc, params: params! };
  });
}

/** All that has a state: benchmarks, and what services push. */
const listed = (o: Overview): Listed[] => [
  ...o.benchmarks,
  ...(o.releases ?? []).map(r => ({ group: r.service, benchmark: r.benchmark, runs: r.releases, profiles: 0, types: [r.type], last: r.last, metric: null, outcome: r.outcome, service: r.service })),
];

/** The table of a selection; version counts the imports of this page, none is what to say where nothing can be compared. */
export function Changes({ scope, version, none }: { scope: Scope; version: number; none: string }) {
  const report = useChanges(scope, version);
  if (none && report.error instanceof Problem && report.error.status === 404) return <p class="dim">{none}</p>;
  const q = new URLSearchParams(scope.params);
  // Thousands of benchmarks are asked for when they are looked at: the report has their number.
  if (version) q.set('points', '30');
  const stale = report.busy && report.value !== undefined; // what is shown is of the choice before
  const { params } = place.value;
  const wanted = scope.params && !q.has('base') && (params.get('quiet') === 'true' || params.has('q'));
  const all = useLoad<Listed[]>(wanted ? `${q} ${version}` : '', o => source.value.get<Overview>('overview', q, o).then(listed));
  return (
    <div class={`findings reserved ${stale ? 'stale' : ''}`} aria-busy={stale}>
      {stale && <Comparing scope={scope} />}
      <Await of={report} what="changes">
        {({ doc, params: of }) => (
          <>
            <Notes of={doc.notes} />
            {of.has('base') ? <Sides doc={doc} params={of} /> : <Triage doc={doc} benchmarks={all.value} params={of} />}
          </>
        )}
      </Await>
    </div>
  );
}

/** Says what is on its way: "comparing 120 of 298 benchmarks". */
function Comparing({ scope }: { scope: Scope }) {
  const q = new URLSearchParams(scope.params);
  for (const name of ['base', 'head']) q.delete(name);
  for (const [name, value] of Object.entries(number)) q.set(name, value);
  const chosen = useAnswer<Overview>('overview', q);
  const all = useAnswer<Overview>('overview', number);
  const of = (o: Overview | undefined) => (o ? count(o.benchmarks.length + (o.omitted?.rows ?? 0)) : '…');
  return <p class="comparing" role="status">{`comparing ${of(chosen.value)} of ${of(all.value)} benchmarks`}</p>;
}
