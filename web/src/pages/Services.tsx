// Services that push profiles: what they push over time, and from a point to its flame graph.
import type { ReportDocument } from '../core/answers';
import { amount, instant, percent, signed, visible } from '../core/format';
import { change } from '../core/metric';
import { gridOf, hoursOf, labelsOf, mainType, type PushedLine, type PushedSeries, type PushedService, releases, selectorOf, timeOf, typeName } from '../core/pushed';
import { notesOf } from '../core/request';
import { formatNames } from '../core/selection';
import { type Changes, go, href, place, update } from '../core/url';
import { Band } from '../ui/Band';
import { Title } from '../ui/Evidence';
import { Await, useAnswer } from '../ui/Load';
import { Page } from '../ui/Page';
import { Table } from '../ui/Table';
import { shownChanges, tone, verdict } from '../ui/Triage';
import '../pages.css';

const times: [value: string, label: string][] = [
  ['1h', 'Last hour'],
  ['6h', 'Last 6 hours'],
  ['24h', 'Last 24 hours'],
  ['7d', 'Last 7 days'],
  ['30d', 'Last 30 days'],
  ['90d', 'Last 90 days'],
  ['', 'All time'],
];

export default function Services() {
  const service = place.value.params.get('service');
  return service === null ? <List /> : <One key={service} service={service} />;
}

function Select({ title, value, options, change }: { title: string; value: string; options: [string, string][]; change: (value: string) => void }) {
  return (
    <label>
      {title}
      <select value={value} onChange={e => change(e.currentTarget.value)}>
        {!options.some(([v]) => v === value) && <option value={value}>{visible(value)}</option>}
        {options.map(([v, label]) => (
          <option key={v} value={v}>
            {label}
          </option>
        ))}
      </select>
    </label>
  );
}

/** The time that is shown: one of a list, or from and to in UTC. */
function Time() {
  const { params } = place.value;
  const local = (name: string) => {
    const at = new Date(params.get(name) ?? '');
    return Number.isNaN(at.getTime()) ? '' : at.toISOString().slice(0, 16);
  };
  const set = (name: string, text: string) => update({ [name]: text && `${text}:00Z` }, true);
  return (
    <>
      <Select title="Time" value={params.get('since') ?? ''} options={times} change={since => update({ since, until: null }, true)} />
      <label>
        From (UTC) <input type="datetime-local" value={local('since')} onChange={e => set('since', e.currentTarget.value)} />
      </label>
      <label>
        To <input type="datetime-local" value={local('until')} onChange={e => set('until', e.currentTarget.value)} />
      </label>
    </>
  );
}

function List() {
  const { params } = place.value;
  const range = { since: params.get('since'), until: params.get('until') };
  const answer = useAnswer<{ rows: PushedService[] }>('pushed/services', range);
  return (
    <Page title="Services" sub="Services that push profiles by themselves, and what they push.">
      <div class="pickers">
        <Time />
      </div>
      <Await of={answer} what="services">
        {({ rows }) => (
          <Table
            fitted
            label="services"
            rows={rows.length}
            columns={[
              {
                id: 'service',
                title: 'Service',
                cell: i => <a href={href('services', { ...range, service: rows[i]!.service, type: rows[i]!.type })}>{visible(rows[i]!.service)}</a>,
              },
              { id: 'type', title: 'Type', width: 200, cell: i => visible(typeName(rows[i]!.type)) },
              { id: 'series', title: 'Series', width: 80, numeric: true, cell: i => String(rows[i]!.series) },
              { id: 'labels', title: 'Labels', width: 260, optional: 1, cell: i => visible(rows[i]!.labels.map(l => l.name).join(', ')) },
              { id: 'first', title: 'Since (UTC)', width: 140, optional: 2, cell: i => instant(rows[i]!.first) },
              { id: 'last', title: 'Until (UTC)', width: 140, cell: i => instant(rows[i]!.last) },
            ]}
            empty={
              <>
                No service pushed a profile in this time. Start <code>dendro serve --continuous</code>, and set its address in a Pyroscope SDK or an
                OpenTelemetry exporter.
              </>
            }
          />
        )}
      </Await>
    </Page>
  );
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
    <Page title={visible(service)} sub={<a href={href('services', range)}>All services</a>}>
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

function Shown({ service, rows }: { service: string; rows: PushedService[] }) {
  const { params } = place.value;
  const now = rows.find(r => r.type === params.get('type')) ?? mainType(rows);
  const chosen = labelsOf(params.get('labels'));
  const what = selected(service, now.type);
  const fn = params.get('function') ?? '';
  const by = params.get('by') ?? '';
  const series = useAnswer<PushedSeries>('pushed/series', { ...what, function: fn, self: params.get('self'), by, rows: 8 });
  return (
    <>
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
            placeholder={'{zone="eu",pod=~"web-.*"}'}
            onChange={e => update({ labels: e.currentTarget.value.trim() }, true)}
          />
        </label>
        <Select
          title="Lines"
          value={by}
          options={[['', 'one line'], ...now.labels.map((l): [string, string] => [l.name, `by ${visible(l.name)}`])]}
          change={v => update({ by: v }, true)}
        />
        <label>
          Function
          <input type="search" value={fn} placeholder="all functions" onChange={e => update({ function: e.currentTarget.value.trim() }, true)} />
        </label>
        {fn && (
          <button
            type="button"
            aria-pressed={params.get('self') === 'true'}
            onClick={() => update({ self: params.get('self') === 'true' ? null : 'true' }, true)}
          >
            {params.get('self') === 'true' ? 'Show total' : 'Show self'}
          </button>
        )}
      </div>
      <p class="actions">
        <a class="button" href={href('profile', what)}>
          Flame graph of this time
        </a>{' '}
        <Comparisons service={now} what={what} />
      </p>
      <Await of={series} what="the profiles over time">
        {s => <Lines s={s} by={by} fn={fn} what={what} />}
      </Await>
      {releases(now) && <Release service={now} what={what} of={releases(now)!} />}
    </>
  );
}

/** What the newest release made slower, or faster: each with the history of its function, and the diff of the releases. */
function Release({ service, what, of }: { service: PushedService; what: Changes; of: NonNullable<ReturnType<typeof releases>> }) {
  const report = useAnswer<ReportDocument>('report', { service: service.service, candidates: 0, 'max-depth': 0, changed: true });
  const doc = report.value;
  if (!doc) return report.error ? null : <p class="sub">comparing the newest release …</p>;
  const rows = shownChanges(doc, new URLSearchParams());
  const diff = compared(service, of);
  return (
    <section class="findings" aria-label="Newest release">
      <h2>{rows.length === 0 ? 'The newest release changed nothing that shows' : 'What the newest release changed'}</h2>
      {doc.notes.map(n => (
        <p key={n} class="sub">
          {visible(n)}
        </p>
      ))}
      {rows.length > 0 && (
        <div class="scroll">
          <table class="plain">
            <thead>
              <tr>
                <th>Verdict</th>
                <th class="num">Change</th>
                <th class="num">Per second</th>
                <th>Function of yours, and its call</th>
                <th>What grew</th>
                <th>Source</th>
              </tr>
            </thead>
            <tbody>
              {rows.map(c => (
                <tr key={c.id}>
                  <td class={tone(c)}>
                    {verdict(c)}
                    <small>, {c.status}</small>
                  </td>
                  <td class={`num ${tone(c)}`}>
                    <b>{signed(c.delta.share, percent)}</b>
                  </td>
                  <td class="num">{c.delta.time ? change(c.delta.time.value, c.delta.time.unit.replace(/\/op$/, '/s')) : '–'}</td>
                  <td>
                    {c.function ? (
                      <a href={href('services', { ...what, function: c.headline?.function ?? c.function, by: of.name })} title="over time, a line for each release">
                        <Title c={c} short />
                      </a>
                    ) : (
                      visible(c.note ?? 'the whole program')
                    )}
                  </td>
                  <td>
                    <a href={href('diff', { ...diff, sel: formatNames(c.path ?? []) })}>Diff of the releases</a>
                  </td>
                  <td title={c.file && visible(c.file)}>
                    <Place c={c} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}

/** File and line of a change; a link where the address of the repository is known. */
function Place({ c }: { c: ReportDocument['changes'][number] }) {
  const text = c.file && visible(`${c.file.replace(/.*[/\\]/, '')}${c.line ? `:${c.line}` : ''}`);
  if (!text || !/^https?:\/\//.test(c.link ?? '')) return <>{text || '–'}</>;
  return (
    <a href={c.link!} target="_blank" rel="noreferrer">
      {text}
    </a>
  );
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

function Lines({ s, by, fn, what }: { s: PushedSeries; by: string; fn: string; what: Changes }) {
  if (s.rows.length === 0)
    return (
      <div class="empty">
        <p>No data in this time.</p>
      </div>
    );
  const used = s.gauge ? 'mean over time' : `sum over ${amount(s.step * 1e6, 'nanoseconds')}`;
  return (
    <>
      {notesOf(s.notes)
        .filter(n => !n.startsWith('type '))
        .map(n => (
          <p key={n} class="sub">
            {visible(n)}
          </p>
        ))}
      {s.rows.map(line => (
        <Line key={line.value} s={s} line={line} title={[by && `${by} ${line.value || 'missing'}`, fn, used].filter(Boolean).map(visible).join(', ')} by={by} what={what} />
      ))}
    </>
  );
}

function Line({ s, line, title, by, what }: { s: PushedSeries; line: PushedLine; title: string; by: string; what: Changes }) {
  const grid = gridOf(s, line);
  const known = by ? labelsOf(String(what.labels ?? '')) : null;
  const labels = known ? selectorOf({ ...known, [by]: line.value }) : what.labels;
  return (
    <section class="card">
      <p class="sub">{title}: a click on a point opens its flame graph</p>
      <Band
        label={`${title} over time`}
        series={{ x: grid.times.map(t => t / 1000), values: grid.values }}
        height={s.rows.length > 1 ? 140 : 260}
        format={v => amount(v, s.unit)}
        onSelect={i => go('profile', { ...what, labels, ...timeOf(s, grid.times[i]!) })}
      />
    </section>
  );
}
