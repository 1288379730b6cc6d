// One task: its progress, what each instance did, how far the samples can be trusted, the
// sampled requests with their spans and dumps, and the merged tree.
import { useMemo, useState } from 'preact/hooks';
import type { Analysis, Cause, SegmentDescription, Snapshot, TaskDescription, TaskLogLine, TaskSegment } from '../core/answers';
import { boxesOf, merged, sharedFrames } from '../core/dumps';
import { count, counted, instant, percent, visible } from '../core/format';
import { ago, millis, splitName } from '../core/metric';
import { hash, parseSelection } from '../core/selection';
import { mayChange } from '../core/session';
import { type Params, source } from '../core/source';
import { href, place, update } from '../core/url';
import { Axis } from '../ui/Axis';
import { Box } from '../ui/Box';
import { ToServices } from '../ui/Crumbs';
import { Await, Failure, useAnswer } from '../ui/Load';
import { Page } from '../ui/Page';
import { usePolled } from '../ui/Poll';
import { showTip } from '../ui/Tip';
import { Workspace } from '../view/Workspace';
import { State } from './Tasks';
import { Notes, Plain } from '../ui/Plain';
import '../pages.css';
import './services.css';
import './tasks.css';

export default function TaskDetail() {
  const id = place.value.params.get('task') ?? 'last';
  const at = `tasks/${encodeURIComponent(id)}`;
  const [live, setLive] = useState(true);
  const answer = usePolled<TaskDescription>(at, {}, live ? 2000 : 0);
  const t = answer.value;
  const settled = t && t.state !== 'running' && t.state !== 'planned' && Date.now() > t.end + 60000;
  if (settled && live) setLive(false);
  const interval = live ? 2000 : 0;
  const logs = usePolled<{ rows: TaskLogLine[] | null }>(`${at}/logs`, {}, interval);
  return (
    <Page
      title={t ? visible(t.endpoint ?? t.id) : 'Task'}
      crumbs={<ToServices />}
      sub={
        t && (
          <>
            <State t={t} /> {visible(t.service)}, {millis(t.duration)} from {instant(t.start)}
            {t.period ? `, a dump every ${millis(t.period)}` : ''}
            {t.minDuration ? `, requests slower than ${millis(t.minDuration)}` : ''}
          </>
        )
      }
      actions={t && <Actions t={t} stopped={answer.retry} />}
    >
      <Await of={answer} what="the task">
        {task => (
          <>
            <Progress t={task} />
            {task.causes.length > 0 && <Causes list={task.causes} running={task.state === 'running'} />}
            {task.kind === 'trace' && (task.coverage?.received ?? 0) > 0 && <Sampled t={task} interval={interval} />}
            {(logs.value?.rows ?? []).length > 0 && <Instances lines={logs.value!.rows!} coverage={task.coverage?.segments ?? []} />}
            {task.kind !== 'trace' && (
              <p>
                <a href={href('profile', { group: task.service, run: task.id })}>The profiles that it stored</a>, as a run of the store.
              </p>
            )}
          </>
        )}
      </Await>
    </Page>
  );
}

function Actions({ t, stopped }: { t: TaskDescription; stopped: () => void }) {
  const [error, setError] = useState<Error | undefined>();
  return (
    <>
      {t.state === 'running' && mayChange() && (
        <button
          type="button"
          onClick={async () => {
            try {
              await source.value.send('POST', `tasks/${encodeURIComponent(t.id)}/stop`, {});
              stopped();
            } catch (err) {
              setError(err as Error);
            }
          }}
        >
          Stop
        </button>
      )}
      {t.kind === 'trace' && (t.coverage?.received ?? 0) > 0 && (
        <a class="button" href={source.value.file('trace-profile', { task: t.id, format: 'firefox' })} download>
          Firefox Profiler file
        </a>
      )}
      <a class="button" href={href('tasks')}>
        All tasks
      </a>
      {error && <Failure error={error} what="that the task stopped" />}
    </>
  );
}

function Progress({ t }: { t: TaskDescription }) {
  const c = t.coverage;
  const done = Math.min(1, Math.max(0, (Date.now() - t.start) / t.duration));
  return (
    <div class="cards">
      <div class="card">
        <span class="dim">{t.state === 'running' ? 'Running' : t.state === 'planned' ? 'Begins' : 'Ended'}</span>
        <b class="big">
          {t.state === 'running'
            ? millis(Math.max(0, Math.round((t.end - Date.now()) / 1000) * 1000))
            : instant(t.state === 'planned' ? t.start : t.end)}
        </b>
        {t.state === 'running' && (
          <>
            <span class="dim">left of {millis(t.duration)}</span>
            <div class="meter" role="progressbar" aria-label="Time of the task" aria-valuenow={Math.round(100 * done)}>
              <i style={{ width: `${100 * done}%` }} />
            </div>
          </>
        )}
      </div>
      {c && (
        <>
          <div class="card">
            <span class="dim">Requests</span>
            <b class="big">{count(c.requests)}</b>
            <span class="dim">{counted(c.segments.length, 'segment')}</span>
          </div>
          <div class="card">
            <span class="dim">Dumps received</span>
            <b class="big">{count(c.received)}</b>
            <span class={c.lost > 0 ? 'more' : 'dim'}>
              {c.known ? `${count(c.expected)} expected, ${count(c.lost)} lost` : 'the number expected is not known yet'}
            </span>
          </div>
          <div class="card">
            <span class="dim">Time covered</span>
            <b class="big">{c.span > 0 ? percent(c.share) : '–'}</b>
            <span class="dim">{c.span > 0 ? `${millis(c.covered)} of ${millis(c.span)} lie between dumps` : 'no dumps yet'}</span>
          </div>
        </>
      )}
    </div>
  );
}

function Causes({ list, running }: { list: Cause[]; running: boolean }) {
  return (
    <section class="card">
      <h2>{running ? 'What is missing so far' : 'Why data is missing'}</h2>
      <ul class="causes">
        {list.map(c => (
          <li key={c.code + c.text}>
            {visible(c.text)}
            {c.names && c.names.length > 0 && <span class="dim"> Similar names: {visible(c.names.join(', '))}</span>}
          </li>
        ))}
      </ul>
    </section>
  );
}

const events: Record<string, string> = {
  NOTIFIED: 'received the task',
  EXECUTION_FINISHED: 'finished',
  EXECUTION_TASK_ERROR: 'failed',
  UPLOAD_FILE_TOO_LARGE_ERROR: 'sent a file that is too large',
  SERVER_STARTED: 'the server started',
};

function Instances({ lines, coverage }: { lines: TaskLogLine[]; coverage: { instance?: string; received: number }[] }) {
  const names = [...new Set(lines.map(l => l.instance))].sort();
  return (
    <section class="findings">
      <h2>Instances</h2>
      <Plain
        rows={names.map(name => ({ name, own: coverage.filter(c => c.instance === name) }))}
        columns={[
          { title: 'Instance', cell: n => (n.name ? visible(n.name) : <span class="dim">server</span>) },
          {
            title: 'What it did',
            cell: n =>
              lines
                .filter(l => l.instance === n.name)
                .sort((a, b) => a.time - b.time)
                .map(l => (
                  <span key={`${l.event} ${l.time}`} class={`pill ${l.event.endsWith('ERROR') ? 'more' : 'dim'}`} title={new Date(l.time).toISOString()}>
                    {`${events[l.event] ?? l.event} ${ago(l.time)}`}
                    {l.text && `: ${visible(l.text)}`}
                  </span>
                )),
          },
          { title: 'Segments', numeric: true, cell: n => count(n.own.length) },
          { title: 'Dumps', numeric: true, cell: n => count(n.own.reduce((s, c) => s + c.received, 0)) },
        ]}
      />
    </section>
  );
}

function Sampled({ t, interval }: { t: TaskDescription; interval: number }) {
  const segment = place.value.params.get('segment') ?? '';
  const segments = usePolled<{ rows: TaskSegment[] }>(`tasks/${encodeURIComponent(t.id)}/segments`, {}, interval);
  return (
    <>
      {segment && <Segment key={segment} task={t} id={segment} />}
      <Merged task={t} segment={segment} interval={interval} />
      <Await of={segments} what="requests">
        {list => <Segments list={list.rows} chosen={segment} of={t} />}
      </Await>
    </>
  );
}

/** One row per request: the segment of the task's endpoint, or the longest one; the others follow when it is chosen. */
function requestsOf(list: readonly TaskSegment[], endpoint: string | undefined, chosen: string): { s: TaskSegment; within: TaskSegment[]; child: boolean }[] {
  const traces = new Map<string, TaskSegment[]>();
  for (const s of list) {
    const of = traces.get(s.trace || s.segment!);
    if (of) of.push(s);
    else traces.set(s.trace || s.segment!, [s]);
  }
  return [...traces.values()].flatMap(all => {
    const rank = (s: TaskSegment) => (s.endpoint === endpoint ? 0 : 1);
    const [first, ...within] = all.sort((a, b) => rank(a) - rank(b) || b.latency - a.latency);
    const open = within.some(s => s.segment === chosen) || first!.segment === chosen;
    return [{ s: first!, within, child: false }, ...(open ? within.map(s => ({ s, within: [], child: true })) : [])];
  });
}

function Segments({ list, chosen, of }: { list: TaskSegment[]; chosen: string; of: TaskDescription }) {
  const rows = requestsOf(list, of.endpoint, chosen);
  const longest = Math.max(1, ...list.map(s => s.latency));
  return (
    <section class="findings">
      <div class="head">
        <h2>Sampled requests</h2>
        {chosen && (
          <button type="button" onClick={() => update({ segment: null, span: null, own: null }, true)}>
            Show all requests
          </button>
        )}
      </div>
      <Plain
        rows={rows}
        rowClass={({ s }) => `link ${s.segment === chosen ? 'selected' : ''}`}
        onRow={({ s }) => update({ segment: s.segment, span: null, own: null }, true)}
        columns={[
          {
            title: 'Request',
            class: tight,
            cell: ({ s, within, child }) => (
              <>
                <button type="button" class="plainbutton" title={s.segment} aria-pressed={s.segment === chosen}>
                  {child && '└ '}
                  {visible(s.endpoint || s.segment!.slice(0, 18))}
                </button>
                {within.length > 0 && <small class="dim">{` and ${counted(within.length, 'segment')} within`}</small>}
              </>
            ),
          },
          { title: 'Instance', class: tight, cell: ({ s }) => visible(s.instance ?? '') },
          { title: 'Start', class: tight, cell: ({ s }) => (s.start ? clock(s.start) : 'not arrived yet') },
          { title: 'Latency', numeric: true, class: tight, cell: ({ s }) => s.latency && millis(s.latency) },
          {
            title: <span class="hidden">Latency as a bar</span>,
            class: () => 'wide',
            cell: ({ s }) => (
              <div class="meter">
                <i style={{ width: `${(100 * s.latency) / longest}%` }} />
              </div>
            ),
          },
          {
            title: 'Dumps',
            numeric: true,
            class: tight,
            tip: ({ s }) => `${s.expected} expected`,
            cell: ({ s }) => (
              <>
                {count(s.received)}
                {s.lost > 0 && <span class="more">{` −${s.lost}`}</span>}
              </>
            ),
          },
          { title: 'Covered', numeric: true, class: tight, cell: ({ s }) => s.span > 0 && percent(s.share) },
        ]}
      />
    </section>
  );
}

const tight = (): string => 'tight';

const height = 20;

/** The spans of a request over the dumps of its thread, on one time axis. */
function Segment({ task, id }: { task: TaskDescription; id: string }) {
  const described = useAnswer<SegmentDescription>(`segments/${encodeURIComponent(id)}`);
  const dumps = useAnswer<{ rows: Snapshot[] }>('snapshots', { task: task.id, segment: id });
  return (
    <section class="card findings">
      <h2>Spans, and the dumps of the thread below them</h2>
      <Await of={described} what="the segment">
        {s => (
          <Await of={dumps} what="its dumps">
            {d => <Timeline s={s} dumps={d.rows} period={task.period ?? 10} />}
          </Await>
        )}
      </Await>
    </section>
  );
}

function Timeline({ s, dumps, period }: { s: SegmentDescription; dumps: Snapshot[]; period: number }) {
  const spans = useMemo(() => inOrder(s), [s]);
  const shared = useMemo(() => sharedFrames(dumps), [dumps]);
  const { boxes, depth } = useMemo(() => boxesOf(dumps, period), [dumps]);
  const skip = Math.max(0, shared - 1);
  const from = Math.min(s.start, ...boxes.map(b => b.start));
  const to = Math.max(s.end, from + 1, ...boxes.map(b => b.end));
  const x = (t: number) => `${(100 * (t - from)) / (to - from)}%`;
  const w = (a: number, b: number) => `max(2px, ${(100 * (b - a)) / (to - from)}%)`;
  const shownBoxes = boxes.filter(b => b.depth >= skip && (b.end - b.start) / (to - from) > 0.0008);
  const chosen = place.value.params.get('span');
  return (
    <>
      <Axis from={0} to={to - from} format={millis} />
      <div class="bars" style={{ height: `${spans.length * height}px` }} role="group" aria-label="Spans">
        {spans.map((p, i) => (
          <button
            type="button"
            key={p.id}
            class={`bar span ${p.error ? 'error' : ''} ${String(p.id) === chosen ? 'chosen' : ''}`}
            style={{ top: `${i * height + 1}px`, left: x(p.start), width: w(p.start, p.end) }}
            aria-pressed={String(p.id) === chosen}
            title={`${p.kind} ${p.operation}${p.peer ? ` of ${p.peer}` : ''}, ${millis(p.end - p.start)}${p.error ? ', failed' : ''}: show only its dumps in the tree`}
            onClick={() => update({ span: String(p.id) === chosen ? null : String(p.id) }, true)}
          >
            {visible(p.operation)} <small>{millis(p.end - p.start)}</small>
          </button>
        ))}
      </div>
      {dumps.length === 0 ? (
        <p class="dim">There are no dumps of this request.</p>
      ) : (
        <>
          {skip > 0 && (
            <p class="dim">{`${counted(skip, 'outermost frame')} that all dumps share ${skip === 1 ? 'is' : 'are'} not drawn. The tree below has them.`}</p>
          )}
          <div
            class="bars"
            style={{ height: `${(depth - skip) * height}px` }}
            role="img"
            aria-label={`Stack chart of ${counted(dumps.length, 'dump')}; the tree below has the same data`}
          >
            {shownBoxes.map((b, i) => (
              <div
                key={i}
                class="bar dump"
                style={{
                  top: `${(b.depth - skip) * height + 1}px`,
                  left: x(b.start),
                  width: w(b.start, b.end),
                  background: colourOf(b.name),
                }}
                onMouseMove={e =>
                  showTip(
                    e.clientX,
                    e.clientY,
                    <>
                      <b>{visible(b.name)}</b>
                      <small>{`${millis(b.end - b.start)} from ${millis(b.start - from)} on, ${counted(b.dumps, 'dump')}`}</small>
                    </>,
                  )
                }
                onMouseLeave={() => showTip(0, 0, null)}
              >
                {visible(splitName(b.name)[1])}
              </div>
            ))}
          </div>
        </>
      )}
    </>
  );
}

const colourOf = (name: string): string => `hsl(${((hash(splitName(name)[0]) >>> 8) % 24) * 15} var(--box))`;

/** Spans below the span around them, by start. */
function inOrder(s: SegmentDescription) {
  const spans = s.spans ?? [];
  const out: typeof spans = [];
  const add = (parent: number) => {
    for (const p of spans.filter(x => x.parent === parent).sort((a, b) => a.start - b.start)) {
      if (out.includes(p)) continue;
      out.push(p);
      add(p.id);
    }
  };
  add(-1);
  return [...out, ...spans.filter(p => !out.includes(p))];
}

/** The merged tree of all dumps, or of one request or span. */
function Merged({ task, segment, interval }: { task: TaskDescription; segment: string; interval: number }) {
  const span = place.value.params.get('span') ?? '';
  const own = place.value.params.get('own') === 'true';
  const params = segment ? { task: task.id, segment, span, own } : { task: task.id };
  const answer = usePolled<Analysis>('analysis', params, interval);
  const title = span ? 'Where this span spent its time' : segment ? 'Where this request spent its time' : 'Where the requests spent their time';
  return (
    <section class="findings">
      <div class="head">
        <h2>{title}</h2>
        {span && (
          <Box name="own" push>
            without its child spans
          </Box>
        )}
      </div>
      <Await of={answer} what="the tree">
        {a => (
          <>
            <p class="dim">{`${counted(a.snapshots, 'dump')} of ${counted(a.segments, 'segment')}, ${millis(a.rootTotal)} between them`}</p>
            <Notes of={a.notes} />
            <Tree a={a} params={params} title={title} />
          </>
        )}
      </Await>
    </section>
  );
}

/** The dumps in the graph that profiles have, and those of what is selected in it. */
function Tree({ a, params, title }: { a: Analysis; params: Params; title: string }) {
  const address = place.value.params;
  const every = address.get('frames') === 'all';
  const { tree, folded, rowsOf } = useMemo(() => merged(a, every), [a, every]);
  const selected = parseSelection(tree.table.functions, address.get('sel'));
  return (
    <>
      {(folded > 0 || every) && (
        <Box name="frames" value="all" push>
          {every ? 'frames of frameworks too' : `frames of frameworks too: ${count(folded)} folded`}
        </Box>
      )}
      <section class="framed" aria-label="Graph">
        <Workspace tree={tree} skip={0} title={title} downloads={[]} />
      </section>
      {selected && <Dumps key={a.snapshots} params={params} rows={rowsOf(selected)} name={tree.table.functions[selected.fn]!.name} />}
    </>
  );
}

const mostDumps = 100;

/** The dumps of rows, with their times; each leads to its request. */
function Dumps({ params, rows, name }: { params: Params; rows: readonly number[]; name: string }) {
  const answer = useAnswer<Analysis>('analysis', { ...params, dumps: true });
  return (
    <section class="card" aria-label="Dumps">
      <Await of={answer} what="the dumps">
        {a => {
          const list = [...new Set(rows.flatMap(r => a.rows[r]?.dumps ?? []))].map(i => a.dumps![i]!);
          return (
            <>
              <h3>
                {counted(list.length, 'dump')} with {visible(name)}
              </h3>
              <p class="dumplist">
                {list.slice(0, mostDumps).map(d => (
                  <a key={`${d.segment} ${d.sequence}`} href={href('task', { task: place.value.params.get('task'), segment: d.segment })} title={visible(d.segment)}>
                    {clock(d.time)}
                  </a>
                ))}
                {list.length > mostDumps && `and ${count(list.length - mostDumps)} more`}
              </p>
            </>
          );
        }}
      </Await>
    </section>
  );
}

/** The time of day with milliseconds. */
const clock = (ms: number): string => new Date(ms).toISOString().slice(11, 23);
