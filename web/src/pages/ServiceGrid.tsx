// All services: what each uses now and over the last day, in which function most, what its newest release cost, and when it was seen.
import { useMemo } from 'preact/hooks';
import type { Overview, PushedSeries, PushedService, Service } from '../core/answers';
import { counted, instant, percent, visible } from '../core/format';
import { ago, shortName } from '../core/metric';
import { gridOf, mainType, rateText, typesText } from '../core/pushed';
import { mayChange } from '../core/session';
import { href, place } from '../core/url';
import { Fn } from '../ui/Fn';
import { Await, useAnswer } from '../ui/Load';
import { OutcomeText } from '../ui/Outcome';
import { usePolled } from '../ui/Poll';
import { Spark } from '../ui/Spark';
import { Start, StartAgent, StartSdk } from '../ui/Start';
import '../pages.css';

/** Milliseconds between two requests for what services use. */
const pace = 30_000;

export default function ServiceGrid() {
  const pushes = usePolled<{ rows: PushedService[] }>('pushed/services', {}, pace);
  const traces = useAnswer<{ rows: Service[] | null }>('services');
  const words = (place.value.params.get('q') ?? '').toLowerCase().split(/\s+/);
  const fits = (s: { service: string }) => words.every(w => s.service.toLowerCase().includes(w));
  const traced = (traces.value?.rows ?? []).filter(fits);
  return (
    // A store that keeps no pushed profiles has the services that agents trace.
    <Await of={traced.length > 0 && pushes.error ? { ...pushes, error: undefined, value: { rows: [] } } : pushes} what="services">
      {({ rows }) => {
        const shown = rows.filter(fits);
        if (shown.length + traced.length === 0) return traces.busy ? null : <None />;
        return (
          <div class="scroll">
            <table class="plain">
              <thead>
                <tr>
                  <th>Service</th>
                  <th class="num">Uses now</th>
                  <th>Last 24 hours</th>
                  <th>Hottest function</th>
                  <th>Newest release</th>
                  <th>Sends</th>
                  <th class="num">Last seen</th>
                </tr>
              </thead>
              <tbody>
                {shown.length > 0 && <Pushed rows={shown} />}
                {traced.map(s => (
                  <tr key={s.service}>
                    <td>
                      <a href={href('tasks', { service: s.service })}>{visible(s.service)}</a>
                    </td>
                    <td class="num">–</td>
                    <td />
                    <td />
                    <td>{mayChange() && <a href={href('tasks', { service: s.service, create: true })}>Profile a slow endpoint</a>}</td>
                    <td class="dim">{`traces of ${counted(s.instances, 'instance')}`}</td>
                    <td class="num" title={instant(new Date(s.lastSeen).toISOString())}>{ago(s.lastSeen)}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        );
      }}
    </Await>
  );
}

function Pushed({ rows }: { rows: readonly PushedService[] }) {
  const type = rows.some(r => r.type.split(':')[1] === 'cpu') ? 'cpu' : rows[0]!.type;
  const used = usePolled<PushedSeries>('pushed/series', { type, by: 'service_name', since: '24h', step: '1h' }, pace);
  const verdicts = useAnswer<Overview>('overview', { rows: 1 });
  const hour = lastHour(verdicts.value?.pushed ?? []);
  const grid = useMemo(() => used.value && gridOf(used.value), [used.value]);
  return (
    <>
      {[...new Set(rows.map(r => r.service))].map(name => {
        const of = rows.filter(r => r.service === name);
        const last = of.map(r => r.last).sort().at(-1)!;
        const values = grid?.lines.find(l => l.name === name)?.values ?? [];
        const now = values.findLast(v => v !== null);
        const hot = verdicts.value?.pushed.find(u => u.service === name && u.function);
        const release = verdicts.value?.releases.find(r => r.service === name);
        return (
          <tr key={name}>
            <td>
              <a href={href('services', { service: name })}>{visible(name)}</a>
            </td>
            <td class="num">{typeof now === 'number' ? rateText(now, used.value!) : '–'}</td>
            <td>{values.length > 0 && <Spark values={values} label={`${visible(name)} over the last 24 hours`} />}</td>
            <td>
              {hot ? (
                <a href={href('bottlenecks', { service: name, type: mainType(of).type, weight: 'samples', ...hour })} title={`${visible(hot.function!)} with the libraries and the runtime that it calls, in the last hour; opens all functions`}>
                  <Fn name={shortName(hot.function!)} /> {percent(hot.share ?? 0)}
                </a>
              ) : (
                '–'
              )}
            </td>
            <td>
              {release && <b>{visible(release.last.run)} </b>}
              {release ? <OutcomeText o={release.outcome} /> : verdicts.busy ? '…' : '–'}
            </td>
            <td class="dim">{visible(typesText(of))}</td>
            <td class="num" title={instant(last)}>{ago(Date.parse(last))}</td>
          </tr>
        );
      })}
    </>
  );
}

/** The hour of which an overview ranks functions: it ends with the last window of all services. */
function lastHour(pushed: Overview['pushed']): { since: string; until: string } {
  const end = Math.max(0, ...pushed.map(u => Date.parse(u.last)));
  const text = (ms: number) => new Date(ms).toISOString().replace('.000Z', 'Z');
  return { since: text(end - 3_600_000), until: text(end) };
}

/** What makes a service appear here. */
const None = () => (
  <>
    <p>No service pushes profiles yet, and no agent traces one.</p>
    <StartSdk />
    <Start title="Push a profile" text="Of the last minute, from any script; the name is the service, with its release as a label:" command={`curl --data-binary @cpu.pb.gz "${location.origin}/ingest?name=shop%7Bversion=1.0%7D&format=pprof&from=now-1m&until=now"`} />
    <StartAgent />
  </>
);
