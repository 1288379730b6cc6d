// Services that push profiles: what they push over time, and from a point to its flame graph.
import { useState } from 'preact/hooks';
import type { PushedSeries, PushedService, ReportDocument } from '../core/answers';
import { spans, stamp } from '../core/days';
import { instant, visible } from '../core/format';
import { type Loaded, loaded, type Wire } from '../core/profile';
import { gridOf, hoursOf, labelsOf, mainType, pointsOf, rateText, releases, selectorOf, timeOf, typeName } from '../core/pushed';
import { dataParams, notesOf, serverTransforms, withoutFlags } from '../core/request';
import { formatNames } from '../core/selection';
import { queryOf } from '../core/source';
import { type Changes, go, href, place, update } from '../core/url';
import { SelfBox } from '../ui/Box';
import { ToServices } from '../ui/Crumbs';
import { changeColumns, Title } from '../ui/Evidence';
import { useFolded } from '../ui/Folded';
import { Await, useAnswer } from '../ui/Load';
import { Page } from '../ui/Page';
import { Plot } from '../ui/Plot';
import { usePolled } from '../ui/Poll';
import { shownChanges } from '../ui/Triage';
import { When } from '../ui/When';
import { Workspace } from '../view/Workspace';
import Grid from './ServiceGrid';
import { Endpoints } from './Tasks';
import { Plain } from '../ui/Plain';
import { Select } from '../ui/Select';
import { Chip } from '../ui/Chip';
import { Outside } from '../ui/Outside';
import '../pages.css';
import './benchmarks.css';
import './services.css';

export default function Services() {
  const service = place.value.params.get('service');
  return service === null ? <List /> : <One key={service} service={service} />;
}

/** The choice of dates, which have a field each. */
const dates = 'dates';

/** The time that is shown: one of a list, or from and to in UTC. */
function Time() {
  const { params } = place.value;
  const since = params.get('since') ?? '';
  const [asked, ask] = useState(false);
  const dated = asked || params.has('until') || !spans.some(([age]) => age === since);
  const field = (name: 'since' | 'until', title: string) => <When title={title} value={instant(params.get(name) ?? '')} onChange={at => update({ [name]: stamp(at), ...noTime }, true)} />;
  const change = (to: string) => {
    ask(to === dates);
    if (to !== dates) update({ since: to, until: null, ...noTime }, true);
  };
  return (
    <>
      <Select title="Time" value={dated ? dates : since} options={[...spans, [dates, 'From … to …']]} change={change} />
      {dated && field('since', 'From (UTC)')}
      {dated && field('until', 'To')}
    </>
  );
}

/** So few services leave room for their charts below the grid. */
const few = 4;

function List() {
  const list = useAnswer<{ rows: PushedService[] }>('pushed/services');
  const rows = list.value?.rows ?? [];
  const names = [...new Set(rows.map(r => r.service))];
  return (
    <Page title="Services" sub="Services that push profiles by themselves, and those that agents trace." actions={<a class="button" href={href('tasks')}>Slow requests</a>}>
      <Grid />
      {names.length <= few && (
        <div class="plots">
          {names.map(name => (
            <Day key={name} s={mainType(rows.filter(r => r.service === name))} />
          ))}
        </div>
      )}
      <Endpoints service="" />
    </Page>
  );
}

/** The last day of a service, a line for each release; a drag opens the graph of that time. */
function Day({ s }: { s: PushedService }) {
  const of = releases(s);
  const what = { service: s.service, type: s.type };
  const answer = usePolled<PushedSeries>('pushed/series', { ...what, by: of?.name ?? '', since: '24h', rows: 8 }, pace.chart);
  const a = answer.value;
  if (!a || a.rows.length === 0) return null;
  return (
    <section class="card">
      <p class="sub">
        <a href={href('services', { service: s.service })}>{visible(s.service)}</a> {visible([a.rateUnit ?? a.unit, 'last 24 hours', of && `by ${of.name}`].filter(Boolean).join(', '))}
      </p>
      <Course of={a} label={`${s.service} over the last 24 hours by release`} unnamed={s.service} flags={!!of} onChoose={(from, to) => go('services', { ...what, since: '24h', from, to })} />
      {of && <Release service={s} what={what} of={of} />}
    </section>
  );
}

interface CourseProps {
  of: PushedSeries;
  label: string;
  /** What a line without a name is called. */
  unnamed: string;
  flags: boolean;
  chosen?: readonly [number, number] | null;
  /** A time that was dragged over, as requests have it. */
  onChoose: (since: string, until: string) => void;
}

/** What is pushed over time, a line for each value of a label. */
function Course({ of, label, unnamed, flags, chosen = null, onChoose }: CourseProps) {
  const { times, lines } = gridOf(of);
  const choose = (a: number, b: number) => {
    const { since, until } = timeOf(of, times[a]!, times[b]!);
    onChoose(since, until);
  };
  return <Plot label={label} times={times} lines={lines.map(l => ({ ...l, name: l.name || unnamed }))} compared format={v => rateText(v, of)} flags={flags} chosen={chosen} onChoose={choose} />;
}

/** The parameters that select the profiles of what is shown. */
function selected(service: string, type: string): Changes {
  const { params } = place.value;
  return { service, type, labels: params.get('labels'), since: params.get('since'), until: params.get('until') };
}

function One({ service }: { service: string }) {
  const { params } = place.value;
  const range = { since: params.get('since'), until: params.get('until') };
  const list = useAnswer<{ rows: PushedService[] }>('pushed/services', { service, ...range });
  return (
    <Page title={visible(service)} crumbs={<ToServices range={range} />}>
      <Await of={list} what="the service">
        {({ rows }) =>
          rows.length === 0 ? (
            <>
              <div class="pickers">
                <Time />
              </div>
              <div class="empty">
                <p>{visible(service)} pushed no profile in this time.</p>
              </div>
            </>
          ) : (
            <Shown service={service} rows={rows} />
          )
        }
      </Await>
    </Page>
  );
}

/** The chosen part of the time of the chart; without it all of it. */
const noTime = { from: null, to: null, 'base-from': null, 'base-to': null };

/** Milliseconds between two requests for what is still written. */
const pace = { chart: 15_000, graph: 60_000 };

function Shown({ service, rows }: { service: string; rows: PushedService[] }) {
  const { params } = place.value;
  const now = rows.find(r => r.type === params.get('type')) ?? mainType(rows);
  const chosen = labelsOf(params.get('labels'));
  const what = selected(service, now.type);
  const fn = params.get('function') ?? '';
  const versions = releases(now);
  // Without a choice the releases are beside each other.
  const by = params.get('by') ?? versions?.name ?? '';
  const live = !params.has('until');
  const series = usePolled<PushedSeries>('pushed/series', { ...what, function: fn, self: params.get('self'), by: by === one ? '' : by, rows: 8 }, live ? pace.chart : 0);
  const [folded, unfold] = useFolded('labels', 'function');
  return (
    <>
      <div class={folded}>
        {unfold}
        <div class="pickers">
          <Select title="Value" value={now.type} options={rows.map(r => [r.type, typeName(r.type)])} change={type => update({ type }, true)} />
          <Time />
          {chosen &&
            now.labels
              .filter(l => l.values.length > 1 || chosen[l.name] !== undefined)
              .map(l => (
                <Select
                  key={l.name}
                  title={visible(l.name)}
                  value={chosen[l.name] ?? ''}
                  options={[['', 'all'], ...l.values.map((v): [string, string] => [v, visible(v)])]}
                  change={v => update({ labels: selectorOf({ ...chosen, [l.name]: v }) }, true)}
                />
              ))}
          <label>
            Labels
            <input
              type="text"
              value={params.get('labels') ?? ''}
              placeholder={'{zone="eu"}'}
              onChange={e => update({ labels: e.currentTarget.value.trim() }, true)}
            />
          </label>
          <Select
            title="Lines"
            value={by || one}
            options={[[one, 'one line'], ...now.labels.map((l): [string, string] => [l.name, `by ${visible(l.name)}`])]}
            change={v => update({ by: v }, true)}
          />
          <label>
            Function
            <input type="text" value={fn} placeholder="all functions" onChange={e => update({ function: e.currentTarget.value.trim() }, true)} />
          </label>
          {fn && <SelfBox />}
        </div>
      </div>
      <Await of={series} what="the profiles over time">
        {s => <Chart s={s} by={by === one ? '' : by} fn={fn} what={what} releases={by === versions?.name} />}
      </Await>
      <p class="actions">
        <Comparisons service={now} what={what} />
        <a class="button" href={href('profile', { ...what, ...chosenTime() })}>
          The graph as a page of its own
        </a>
      </p>
      {versions && <Release service={now} what={what} of={versions} />}
      <Graph what={{ ...what, ...chosenTime() }} live={live && !params.has('from')} title={visible(service)} />
    </>
  );
}

/** The choice of one line for all series. */
const one = '*';

/** The part of the time that was chosen in the chart. */
function chosenTime(): Changes {
  const { params } = place.value;
  return params.has('from') ? { since: params.get('from'), until: params.get('to') } : {};
}

/** One chart: its lines have one scale, which begins at 0; a drag chooses the time of the graph below, a second one what it is compared with. */
function Chart({ s, by, fn, what, releases }: { s: PushedSeries; by: string; fn: string; what: Changes; releases: boolean }) {
  const { params } = place.value;
  if (s.rows.length === 0)
    return (
      <div class="empty">
        <p>No data in this time.</p>
      </div>
    );
  const [from, to, base] = [params.get('from'), params.get('to'), params.get('base-from')];
  const title = [s.rateUnit || `mean over time, ${s.unit}`, fn && visible(fn), by && `by ${visible(by)}`].filter(Boolean).join(', ');
  const choose = (since: string, until: string) => {
    if (base) {
      const before = { 'base-since': base, 'base-until': params.get('base-to'), 'head-since': since, 'head-until': until };
      go('diff', { service: what['service'], type: what['type'], labels: what['labels'], ...before });
    } else update({ from: since, to: until }, true);
  };
  return (
    <section class="card">
      <p class="sub">
        {title}. {base ? 'Drag over the time to compare with it.' : 'Drag over a time: the graph below follows.'}
        {notesOf(s.notes)
          .filter(n => !n.startsWith('type '))
          .map(n => ` ${visible(n)}`)}
      </p>
      <Course
        of={s}
        label={`${title} over time`}
        unnamed={by ? `no ${by}` : String(what['service'])}
        flags={releases}
        chosen={from && to ? pointsOf(s, from, to) : null}
        onChoose={choose}
      />
      {from && to && (
        <p class="crumbs">
          <Chip label="All of the time" remove={() => update(noTime, true)}>
            {instant(from)} – {instant(to)} UTC
          </Chip>
          <button type="button" disabled={!!base} onClick={() => update({ 'base-from': from, 'base-to': to }, true)}>
            Compare with another time…
          </button>
        </p>
      )}
    </section>
  );
}

/** The graph of the chosen time, on the same page. */
function Graph({ what, live, title }: { what: Changes; live: boolean; title: string }) {
  const { params } = place.value;
  const query = dataParams(new URLSearchParams(params.getAll('transform').map(x => ['transform', x])));
  for (const [name, value] of queryOf(what)) query.append(name, value);
  query.set('form', 'compact');
  const answer = usePolled<Loaded, Wire>('tree', query, live ? pace.graph : 0, loaded);
  return (
    <section class="framed" aria-label="Graph">
      <Await of={answer} what="the call tree">
        {({ notes, tree }) => (
          <>
            <p class="sub">{notesOf(notes).map(visible).join(' · ')}</p>
            <Workspace tree={tree} skip={serverTransforms(params)} title={title} downloads={[]} />
          </>
        )}
      </Await>
    </section>
  );
}

/** What of each instance is not compared, because it warms up. */
const skips: [value: string, label: string][] = [
  ['', 'its first 30 min'],
  ['0', 'nothing'],
  ['10m', 'its first 10 min'],
  ['1h', 'its first hour'],
  ['3h', 'its first 3 hours'],
];

/** What the newest release made slower, or faster: each with the history of its function, and the diff of the releases. */
function Release({ service, what, of }: { service: PushedService; what: Changes; of: NonNullable<ReturnType<typeof releases>> }) {
  const skip = place.value.params.get('skip') ?? '';
  const report = useAnswer<ReportDocument>('report', { service: service.service, skip, candidates: 0, 'max-depth': 0, changed: true });
  const doc = report.value;
  const rows = doc ? shownChanges(doc, new URLSearchParams()) : [];
  const diff = compared(service, of);
  const own = place.value.params.has('service'); // a card of several has room for less
  const judged = doc?.benchmarks.some(b => b.verdict);
  const title = rows.length > 0 ? 'What the newest release changed' : judged ? 'The newest release changed nothing that shows' : doc || report.error ? 'The newest release has no verdict' : 'comparing the newest release …';
  const reasons = doc ? [...doc.benchmarks.flatMap(b => (b.verdict || !b.reason ? [] : [b.reason])), ...doc.notes] : report.error ? [report.error.message] : [];
  return (
    <section class="findings" aria-label="Newest release">
      <div class="head">
        <h2>{title}</h2>
        {own && (
          <div class="pickers">
            <Select title="Leave out of each instance" value={skip} options={skips} change={v => update({ skip: v }, true)} />
          </div>
        )}
      </div>
      {[...new Set(reasons)].map(n => (
        <p key={n} class="sub">
          {visible(withoutFlags(n))}
        </p>
      ))}
      {rows.length > 0 && (
        <Plain
          rows={rows}
          columns={[
            ...changeColumns('Cost').slice(0, own ? 3 : 2),
            {
              title: 'Function of yours, and its call',
              cell: c =>
                c.function ? (
                  <a href={href('services', { ...what, function: c.headline?.function ?? c.function, by: of.name })} title="over time, a line for each release">
                    <Title c={c} short />
                  </a>
                ) : (
                  visible(c.note ?? 'the whole program')
                ),
            },
            own && {
              title: 'What grew',
              cell: c => (
                <a href={href('diff', { ...diff, sel: formatNames(c.path ?? []) })} title="of the releases">
                  Diff
                </a>
              ),
            },
            own && { title: 'Source', tip: c => c.file && visible(c.file), cell: c => <Place c={c} /> },
          ]}
        />
      )}
    </section>
  );
}

/** File and line of a change; a link where the address of the repository is known. */
function Place({ c }: { c: ReportDocument['changes'][number] }) {
  const text = c.file && visible(`${c.file.replace(/.*[/\\]/, '')}${c.line ? `:${c.line}` : ''}`);
  return <Outside to={text && c.link}>{text || '–'}</Outside>;
}

/** The two newest releases as sides of a diff. */
function compared(service: PushedService, { name, values }: NonNullable<ReturnType<typeof releases>>): Changes {
  const [before, newest] = values.slice(-2);
  return { service: service.service, type: service.type, 'base-labels': selectorOf({ [name]: before! }), 'head-labels': selectorOf({ [name]: newest! }) };
}

/** Links to the diff with the time before, and of the two newest releases. */
function Comparisons({ service, what }: { service: PushedService; what: Changes }) {
  const { params } = place.value;
  // Without a choice today is compared with yesterday.
  const hours = params.has('until') ? 0 : params.get('since') ? hoursOf(params.get('since')!) : 24;
  const enough = Date.now() - Date.parse(service.first) > hours * 3_600_000;
  const versions = releases(service);
  const whole = { service: service.service, type: service.type, labels: params.get('labels') };
  const [before, newest] = versions ? versions.values.slice(-2) : [];
  return (
    <>
      {hours > 0 && enough && (
        <a class="button" href={href('diff', { ...whole, 'base-since': `${2 * hours}h`, 'base-until': `${hours}h`, 'head-since': `${hours}h` })}>
          {params.get('since') ? 'Compare with the time before' : 'Compare the last 24 hours with the 24 before'}
        </a>
      )}{' '}
      {before !== undefined && newest !== undefined && (
        <a class="button" href={href('diff', { ...what, ...compared(service, versions!) })}>
          Compare {visible(before)} → {visible(newest)}
        </a>
      )}
    </>
  );
}
