// Tasks of trace profiling: the list, and how to create one.
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Service, TaskInfo } from '../core/answers';
import { stamp } from '../core/days';
import { count, instant, visible } from '../core/format';
import { millis } from '../core/metric';
import { mayChange } from '../core/session';
import { Problem, source } from '../core/source';
import { go, href, place, update } from '../core/url';
import { ToServices } from '../ui/Crumbs';
import { asError, Await, Failure, useAnswer, useLoad } from '../ui/Load';
import { Page } from '../ui/Page';
import { usePolled } from '../ui/Poll';
import { StartAgent } from '../ui/Start';
import { When } from '../ui/When';
import { Plain } from '../ui/Plain';
import '../pages.css';
import './tasks.css';

export default function Tasks() {
  const service = place.value.params.get('service') ?? '';
  const answer = usePolled<{ rows: TaskInfo[] }>('tasks', { service }, 5000);
  const create = place.value.params.get('create') === 'true';
  return (
    <Page
      title="Slow requests"
      crumbs={<ToServices />}
      sub={service ? `Trace profiling of ${visible(service)}` : 'Trace profiling: sample the threads of slow requests'}
      actions={
        <>
          {service && <a href={href('tasks')}>All tasks</a>}
          {mayChange() && answer.value?.rows.length !== 0 && (
            <button type="button" class="primary" onClick={() => update({ create: create ? null : true }, true)} aria-expanded={create}>
              New task
            </button>
          )}
        </>
      }
    >
      {(create || answer.value?.rows.length === 0) && mayChange() && <Create service={service} />}
      <Endpoints service={service} />
      <Await of={answer} what="tasks">
        {list =>
          list.rows.length === 0 ? (
            <StartAgent />
          ) : (
            <Plain
              rows={list.rows}
              rowClass={() => 'link'}
              onRow={(t, e) => (e.target as Element).closest('a') ?? go('task', { task: t.id })}
              columns={[
                { title: 'Endpoint', cell: t => <a href={href('task', { task: t.id })}>{visible(t.endpoint ?? t.events?.join(' ') ?? t.id)}</a> },
                { title: 'Service', cell: t => visible(t.service) },
                { title: 'State', cell: t => <State t={t} /> },
                { title: 'Start', cell: t => instant(t.start) },
                { title: 'Duration', numeric: true, cell: t => millis(t.duration) },
                { title: 'Period', numeric: true, cell: t => t.period && millis(t.period) },
                { title: 'Slower than', numeric: true, cell: t => t.minDuration && millis(t.minDuration) },
                { title: 'Requests per instance', numeric: true, cell: t => t.maxSegments && count(t.maxSegments) },
                { title: 'Kind', class: () => 'dim', cell: t => t.kind },
              ]}
            />
          )
        }
      </Await>
    </Page>
  );
}

interface Endpoint {
  name: string;
  segments: number;
  slowest: number;
}

/** The endpoints of the services that agents trace, the slowest of each first, each with the way to its task. */
export function Endpoints({ service }: { service: string }) {
  const traced = useAnswer<{ rows: Service[] | null }>('services');
  const services = (traced.value?.rows ?? []).map(s => s.service).filter(s => !service || s === service);
  const answer = useLoad(`endpoints?${services.join('\n')}`, options =>
    Promise.all(
      services.map(async of => {
        const { rows } = await source.value.get<{ rows: Endpoint[] | null }>('endpoints', { service: of, rows: 20 }, options);
        return (rows ?? []).sort((a, b) => b.slowest - a.slowest).map(e => ({ ...e, service: of }));
      }),
    ),
  );
  if (services.length === 0) return null;
  return (
    <Plain
      caption="Endpoints"
      rows={answer.value?.flat() ?? []}
      columns={[
        { title: 'Endpoint', cell: e => visible(e.name) },
        services.length > 1 && { title: 'Service', cell: e => visible(e.service) },
        { title: 'Requests', numeric: true, cell: e => count(e.segments) },
        { title: 'Slowest', numeric: true, cell: e => millis(e.slowest) },
        { title: '', cell: e => mayChange() && <a href={href('tasks', { service: e.service, endpoint: e.name, create: true })}>Profile this endpoint</a> },
      ]}
    />
  );
}

export function State({ t }: { t: TaskInfo }) {
  return <span class={`pill ${t.state === 'running' ? 'live' : 'dim'}`}>{t.state === 'over' ? 'finished' : t.state}</span>;
}

function Create({ service: first }: { service: string }) {
  const [task, set] = useState({
    service: first,
    endpoint: place.value.params.get('endpoint') ?? '',
    start: '',
    duration: '5',
    period: '10',
    minDuration: '0',
    maxSegments: '5',
  });
  const [error, setError] = useState<Error | undefined>();
  const [busy, setBusy] = useState(false);
  const services = useAnswer<{ rows: Service[] | null }>('services');
  const keyword = useDelayed(task.endpoint, 200);
  const known = (services.value?.rows ?? []).some(s => s.service === task.service);
  const endpoints = useAnswer<{ rows: Endpoint[] | null }>('endpoints', known ? { service: task.service, keyword, rows: 50 } : null);
  const focus = useRef<HTMLInputElement>(null);
  useEffect(() => focus.current?.focus(), []);
  const field = (name: keyof typeof task) => ({
    value: task[name],
    onInput: (e: preact.TargetedEvent<HTMLInputElement | HTMLSelectElement>) => set({ ...task, [name]: e.currentTarget.value }),
  });
  const names = endpoints.value?.rows ?? [];
  const slowest = names.find(e => e.name === task.endpoint)?.slowest;
  const dumps = Math.ceil((Number(task.duration) * 60000) / Math.max(10, Number(task.period)));
  return (
    <form
      class="card create"
      aria-label="New task"
      onSubmit={async e => {
        e.preventDefault();
        setBusy(true);
        setError(undefined);
        try {
          const created = await source.value.send<TaskInfo>(
            'POST',
            'tasks',
            {},
            {
              service: task.service,
              endpoint: task.endpoint,
              ...(task.start && { start: Date.parse(stamp(task.start)) }),
              duration: Number(task.duration) * 60000,
              period: Number(task.period),
              minDuration: Number(task.minDuration),
              maxSegments: Number(task.maxSegments),
            },
          );
          go('task', { task: created.id });
        } catch (err) {
          setError(asError(err));
          setBusy(false);
        }
      }}
    >
      <label class="grow">
        Service
        <input ref={focus} list="services" required autocomplete="off" {...field('service')} />
        <datalist id="services">
          {(services.value?.rows ?? []).map(s => (
            <option key={s.service} value={s.service} />
          ))}
        </datalist>
      </label>
      <label class="grow">
        Endpoint
        <input
          list="endpoints"
          required
          autocomplete="off"
          placeholder="first span: /checkout or GET:/checkout"
          {...field('endpoint')}
        />
        <datalist id="endpoints">
          {names.map(e => (
            <option key={e.name} value={e.name}>
              {`${e.segments} requests, slowest ${millis(e.slowest)}`}
            </option>
          ))}
        </datalist>
      </label>
      <When title="Start (UTC)" placeholder="now" ahead value={task.start} onChange={start => set({ ...task, start })} />
      <label>
        Duration
        <select {...field('duration')}>
          {[1, 5, 10, 15].map(m => (
            <option key={m} value={m}>{`${m} min`}</option>
          ))}
        </select>
      </label>
      <label>
        Period in ms
        <input type="number" min="10" max={longestPeriod} {...field('period')} />
      </label>
      <label>
        Only requests slower than, in ms
        <input type="number" min="0" {...field('minDuration')} />
      </label>
      <label>
        Requests per instance
        <input type="number" min="1" max="9" {...field('maxSegments')} />
      </label>
      <p class="dim grow">
        {`At most ${count(dumps)} dumps per thread. `}
        {slowest !== undefined && `The slowest request of this endpoint took ${millis(slowest)}. `}
        {task.service && !known && services.value && 'No service of that name has reported yet. '}
        {known &&
          task.endpoint &&
          endpoints.value &&
          !endpoints.busy &&
          names.length === 0 &&
          'No endpoint with that text in its name has been seen. '}
      </p>
      <button type="submit" class="primary" disabled={busy}>
        {busy ? 'Creating…' : 'Create'}
      </button>
      {error instanceof Problem && typeof error.more['task'] === 'string' ? (
        <p role="alert" class="grow">
          A task of this service runs already, and a service has one at a time: <a href={href('task', { task: error.more['task'] })}>see the task</a>, or stop
          it there.
        </p>
      ) : (
        error && <Failure error={error instanceof Problem ? error : new Error(error.message)} what="the task" />
      )}
    </form>
  );
}

/** The longest period that a task may have, a year in ms. */
const longestPeriod = 366 * 24 * 60 * 60000;

function useDelayed(value: string, ms: number): string {
  const [late, set] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => set(value), ms);
    return () => clearTimeout(timer);
  }, [value]);
  return late;
}
