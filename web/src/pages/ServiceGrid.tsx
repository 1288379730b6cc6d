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
import { Plain } from '../ui/Plain';
import { Start, StartAgent, StartSdk } from '../ui/Start';
import '../pages.css';

/** Milliseconds between two requests for what services use. */
const pace = 30_000;

/** A service that pushes profiles, or that agents trace. */
interface Row {
  service: string;
  pushed: PushedService[];
  traced?: Service;
}

export default function ServiceGrid() {
  const pushes = usePolled<{ rows: PushedService[] }>('pushed/services', {}, pace);
  const traces = useAnswer<{ rows: Service[] | null }>('services');
  const words = (place.value.params.get('q') ?? '').toLowerCase().split(/\s+/);
  const fits = (s: { service: string }) => words.every(w => s.service.toLowerCase().includes(w));
  const traced = (traces.value?.rows ?? []).filter(fits);
  const pushed = (pushes.value?.rows ?? []).filter(fits);
  const rows: Row[] = [
    ...[...new Set(pushed.map(r => r.service))].map(service => ({ service, pushed: pushed.filter(r => r.service === service) })),
    ...traced.map(t => ({ service: t.service, pushed: [], traced: t })),
  ];
  // A store that keeps no pushed profiles has the services that agents trace.
  if (rows.length === 0) return <Await of={pushes} what="services">{() => !traces.busy && <None />}</Await>;
  return <Grid rows={rows} />;
}

function Grid({ rows }: { rows: Row[] }) {
  const pushed = rows.flatMap(r => r.pushed);
  const type = pushed.some(r => r.type.split(':')[1] === 'cpu') ? 'cpu' : pushed[0]?.type;
  const used = usePolled<PushedSeries>('pushed/series', type ? { type, by: 'service_name', since: '24h', step: '1h' } : null, pace);
  const verdicts = useAnswer<Overview>('overview', type ? { rows: 1 } : null);
  const hour = lastHour(verdicts.value?.pushed ?? []);
  const grid = useMemo(() => used.value && gridOf(used.value), [used.value]);
  const values = (r: Row) => grid?.lines.find(l => l.name === r.service)?.values ?? [];
  const seen = (r: Row): number => r.traced?.lastSeen ?? Math.max(...r.pushed.map(p => Date.parse(p.last)));
  return (
    <Plain
      rows={rows}
      columns={[
        { title: 'Service', cell: r => <a href={r.traced ? href('tasks', { service: r.service }) : href('services', { service: r.service })}>{visible(r.service)}</a> },
        pushed.length > 0 && {
          title: 'Uses now',
          numeric: true,
          cell: r => {
            const now = values(r).findLast(v => v !== null);
            return typeof now === 'number' ? rateText(now, used.value!) : '–';
          },
        },
        pushed.length > 0 && { title: 'Last 24 hours', cell: r => values(r).length > 0 && <Spark values={values(r)} label={`${visible(r.service)} over the last 24 hours`} /> },
        pushed.length > 0 && {
          title: 'Hottest function',
          cell: r => {
            const hot = verdicts.value?.pushed.find(u => u.service === r.service && u.function);
            if (!hot) return r.traced ? '' : '–';
            return (
              <a href={href('bottlenecks', { service: r.service, type: mainType(r.pushed).type, weight: 'samples', ...hour })} title={`${visible(hot.function!)} with the libraries and the runtime that it calls, in the last hour; opens all functions`}>
                <Fn name={shortName(hot.function!)} /> {percent(hot.share ?? 0)}
              </a>
            );
          },
        },
        {
          title: pushed.length > 0 && 'Newest release',
          cell: r => {
            if (r.traced) return mayChange() && <a href={href('tasks', { service: r.service, create: true })}>Profile a slow endpoint</a>;
            const release = verdicts.value?.releases.find(x => x.service === r.service);
            if (!release) return verdicts.busy ? '…' : '–';
            return (
              <>
                <b>{visible(release.last.run)} </b>
                <OutcomeText o={release.outcome} />
              </>
            );
          },
        },
        { title: 'Sends', class: () => 'dim', cell: r => (r.traced ? `traces of ${counted(r.traced.instances, 'instance')}` : visible(typesText(r.pushed))) },
        { title: 'Last seen', numeric: true, tip: r => instant(seen(r)), cell: r => ago(seen(r)) },
      ]}
    />
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
