// What the store holds: benchmarks with their last result, services, and what changed.
import { useState } from 'preact/hooks';
import type { Overview, PushedService } from '../core/answers';
import { counted } from '../core/format';
import { selection } from '../core/scope';
import { source } from '../core/source';
import { href } from '../core/url';
import { Bar } from '../ui/Bar';
import { useFolded } from '../ui/Folded';
import { later } from '../ui/Later';
import { Await, useAnswer, Waiting } from '../ui/Load';
import { Page } from '../ui/Page';
import { branchOf, Pickers, useScope } from '../ui/Pickers';
import { Start, StartSdk } from '../ui/Start';
import { Upload } from '../ui/Upload';
import { Changes } from '../ui/WhatChanged';
import '../pages.css';

export default function Home() {
  const [version, again] = useState(0);
  const answer = useAnswer<Overview>('overview', version ? { quick: true, points: 30, rows: 1 } : { quick: true, rows: 1 });
  const pushes = useAnswer<{ rows: PushedService[] }>('pushed/services');
  const pushed = pushes.value?.rows ?? [];
  const scope = useScope(selection, true);
  const o = answer.value;
  const [folded, unfold] = useFolded('group', 'type', 'machine', 'certainty', 'slower', 'own', 'unseen', 'new', 'past');
  return (
    <Page
      title="Changes"
      sub={o && (o.benchmarks.length === 0 ? pushed.length + o.services.length > 0 && counted(o.services.length + new Set(pushed.map(p => p.service)).size, 'service') : `${counted(o.benchmarks.length + (o.omitted?.rows ?? 0), 'benchmark')}, ${counted(o.runs, 'run')}, ${counted(o.profiles, 'profile')}`)}
      actions={
        <>
          {o && o.benchmarks.length + pushed.length > 0 && <ReportFiles of={scope.params} />}
          <Upload done={() => again(version + 1)} branch={branchOf(scope)} />
        </>
      }
    >
      <Await of={answer} what="the store">
        {store => {
          const hasServices = store.services.length + pushed.length > 0;
          if (store.benchmarks.length === 0 && store.services.length === 0 && pushed.length === 0) return pushes.value || pushes.error ? <Empty /> : <Waiting />;
          return (
            <>
              {store.running > 0 && (
                <a class="card" href={href('tasks')}>
                  {`${counted(store.running, 'task')} running`}
                </a>
              )}
              {store.benchmarks.length === 0 && hasServices && <Services />}
              {store.benchmarks.length + pushed.length > 0 && (
                <section class={`findings ${folded}`}>
                  <div class="head">
                    {store.benchmarks.length === 0 && <h2>What changed</h2>}
                    {store.benchmarks.length > 0 && <Bar scope={scope} />}
                    {store.benchmarks.length > 0 && unfold}
                    <Pickers scope={scope} show={['group', 'type', 'machine']} also={{ change: null }} />
                  </div>
                  <Changes scope={scope} version={version} none={store.benchmarks.length === 0 ? 'No service has two releases that can be compared yet.' : ''} />
                </section>
              )}
              {store.benchmarks.length > 0 && hasServices && !scope.params?.has('base') && <Services />}
            </>
          );
        }}
      </Await>
    </Page>
  );
}

/** The report of the list, as files. */
function ReportFiles({ of }: { of: URLSearchParams | undefined }) {
  const file = (format: string) => source.value.file('report', new URLSearchParams([...(of ?? []), ['format', format]]));
  return (
    <>
      <a class="button" href={file('html')} download="report.html">
        Report as a file
      </a>
      <a class="button" href={file('md')} download="report.md">
        Markdown
      </a>
    </>
  );
}

const ServiceGrid = later(() => import('./ServiceGrid'));

/** The services of the store, first where it has nothing else. */
const Services = () => (
  <section class="findings">
    <h2>Services</h2>
    <ServiceGrid />
  </section>
);

/** What fills a store. */
const Empty = () => (
  <>
    <h2>This store is empty</h2>
    <Start title="Drop a profile" text="Anywhere on this page, to look at it. This stores it:" command={`dendro import --store ${location.origin} --benchmark NAME cpu.pb.gz`} />
    <Start title="Record benchmarks" text="Of any language, under a profiler; two commits in turns with --base:" command={`dendro bench --store ${location.origin} -- go test -bench . ./...`} />
    <StartSdk />
  </>
);
