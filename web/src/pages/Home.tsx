// What the store holds: benchmarks with their last result, services, and what changed.
import { useState } from 'preact/hooks';
import type { BenchmarkOverview, Overview, ReportDocument, Status } from '../core/answers';
import { commit, count, counted, instant, percent, signed, visible } from '../core/format';
import { ago, benchmarkName, change, metric } from '../core/metric';
import { mayChange } from '../core/session';
import { source } from '../core/source';
import { go, href, place, update } from '../core/url';
import { costs, diffLink, Title } from '../ui/Finding';
import { useKeys } from '../ui/Keys';
import { Await, useAnswer } from '../ui/Load';
import { Page } from '../ui/Page';
import { Spark } from '../ui/Spark';
import { Upload } from '../ui/Upload';
import '../pages.css';

export default function Home() {
  const [version, again] = useState(0);
  const answer = useAnswer<Overview>('overview', version ? { points: 30 } : {});
  const o = answer.value;
  const words = place.value.params.get('q') ?? '';
  const fits = (...texts: string[]) =>
    words
      .toLowerCase()
      .split(/\s+/)
      .every(w => texts.join(' ').toLowerCase().includes(w));
  useKeys([{ keys: '/', help: 'search', run: () => document.getElementById('search')?.focus() }]);
  return (
    <Page
      title="Overview"
      sub={o && `${counted(o.benchmarks.length, 'benchmark')}, ${counted(o.runs, 'run')}, ${counted(o.profiles, 'profile')}`}
      actions={
        <>
          <input
            id="search"
            type="search"
            placeholder="Search benchmarks and services  /"
            aria-label="Search benchmarks and services"
            value={words}
            onInput={e => update({ q: e.currentTarget.value })}
          />
          <Upload done={() => again(version + 1)} />
        </>
      }
    >
      <Await of={answer} what="the store">
        {store => {
          const benchmarks = store.benchmarks.filter(b => fits(b.group, b.benchmark));
          const services = store.services.filter(s => fits(s.service));
          if (store.benchmarks.length === 0 && store.services.length === 0) return <Empty />;
          return (
            <>
              {store.running > 0 && (
                <a class="card" href={href('tasks')}>
                  {`${counted(store.running, 'task')} running`}
                </a>
              )}
              {store.benchmarks.length > 0 && <Changes />}
              {benchmarks.length > 0 && <BenchmarkTable list={benchmarks} />}
              {services.length > 0 && (
                <section class="findings">
                  <h2>Services</h2>
                  <div class="scroll">
                    <table class="plain">
                      <thead>
                        <tr>
                          <th>Service</th>
                          <th class="num">Instances</th>
                          <th>Last seen</th>
                          <th>Profile a slow endpoint</th>
                        </tr>
                      </thead>
                      <tbody>
                        {services.map(s => (
                          <tr key={s.service}>
                            <td>
                              <a href={href('tasks', { service: s.service })}>{visible(s.service)}</a>
                            </td>
                            <td class="num">{count(s.instances)}</td>
                            <td title={instant(new Date(s.lastSeen).toISOString())}>{ago(s.lastSeen)}</td>
                            <td>{mayChange() && <a href={href('tasks', { service: s.service, create: true })}>New task</a>}</td>
                          </tr>
                        ))}
                      </tbody>
                    </table>
                  </div>
                </section>
              )}
              {benchmarks.length + services.length === 0 && (
                <div class="empty">
                  <p>{`Nothing matches “${words}”.`}</p>
                  <button type="button" onClick={() => update({ q: null })}>
                    Show all
                  </button>
                </div>
              )}
            </>
          );
        }}
      </Await>
    </Page>
  );
}

/** The findings of all value types that are judged; they are computed while the rest is shown. */
function Changes() {
  const answer = useAnswer<ReportDocument>('report', { candidates: 0, 'max-depth': 0 });
  return (
    <section class="findings">
      <h2>What changed</h2>
      <Await of={answer} what="changes">
        {doc => {
          const list = doc.changes.filter(c => (costs(c) || c.kind === 'improvement') && !c.acknowledged && c.status !== 'transient');
          if (list.length === 0)
            return (
              <p class="dim">
                Nothing became slower or faster beyond noise
                {doc.benchmarks.some(b => !b.verdict) ? '; some benchmarks have too few runs to tell' : ''}.{' '}
                <a href={href('regressions')}>Details</a>
              </p>
            );
          const several = new Set(doc.benchmarks.map(b => b.type)).size > 1;
          return (
            <>
              {list.slice(0, 5).map(c => {
                const b = doc.benchmarks.find(x => x.group === c.group && x.benchmark === c.benchmark && x.type === c.type);
                return (
                  <div key={c.id} class={`card change ${costs(c) ? 'worse' : ''}`}>
                    <div>
                      <a class="title" href={href('regressions', { group: c.group, benchmark: c.benchmark })}>
                        <Title c={c} />
                      </a>
                      <p class="dim">
                        {several && `${visible(c.type)} of `}
                        {visible(benchmarkName(c))} since {visible(c.since.run)}
                        {c.since.commit && (
                          <>
                            {' '}
                            at <code>{commit(c.since.commit)}</code>
                          </>
                        )}
                      </p>
                    </div>
                    <div class={`num ${costs(c) ? 'more' : 'less'}`}>
                      <b class="big">{c.delta.time ? change(c.delta.time.value, c.delta.time.unit) : signed(c.delta.share, percent)}</b>
                      <a href={diffLink(c, b) ?? href('regressions')}>see the call path</a>
                    </div>
                  </div>
                );
              })}
              {list.length > 5 && <a href={href('regressions')}>{`All ${list.length} changes`}</a>}
            </>
          );
        }}
      </Await>
    </section>
  );
}

const words: Record<Status, string> = { slower: 'slower', faster: 'faster', steady: 'steady', unknown: 'too few runs' };

function BenchmarkTable({ list }: { list: BenchmarkOverview[] }) {
  return (
    <section class="findings">
      <h2>Benchmarks</h2>
      <div class="scroll">
        <table class="plain">
          <thead>
            <tr>
              <th>Benchmark</th>
              <th class="roomy">Last runs</th>
              <th class="num">Last</th>
              <th class="num" title="against the mean of the 10 runs before">
                Change
              </th>
              <th>Status</th>
              <th class="num">Runs</th>
              <th>Newest run</th>
            </tr>
          </thead>
          <tbody>
            {list.map(b => {
              const m = b.metric;
              return (
                <tr
                  key={benchmarkName(b)}
                  class="link"
                  onClick={e => (e.target as Element).closest('a') ?? go('benchmark', { group: b.group, benchmark: b.benchmark })}
                >
                  <td>
                    <a href={href('benchmark', { group: b.group, benchmark: b.benchmark })}>
                      <span class="pkg">{b.group && `${visible(b.group)}/`}</span>
                      {visible(b.benchmark)}
                    </a>
                  </td>
                  <td class="roomy">
                    {m && (
                      <Spark
                        values={m.values}
                        mark={m.status === 'slower' ? m.values.length - 1 : -1}
                        label={`${m.name} of the last ${m.values.length} runs`}
                      />
                    )}
                  </td>
                  <td class="num">{m && metric(m.last, m.unit)}</td>
                  <td class="num">{m && m.mean !== 0 && signed(m.last / m.mean - 1, percent)}</td>
                  <td class={m?.status === 'slower' ? 'more' : m?.status === 'faster' ? 'less' : 'dim'}>
                    {m ? words[m.status] : 'no metric'}
                  </td>
                  <td class="num">{count(b.runs)}</td>
                  <td>
                    {visible(b.last.run)} <small class="dim">{b.last.date ? instant(b.last.date) : ''}</small>
                  </td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function Empty() {
  const where = source.value.offline ? '' : location.origin;
  return (
    <div class="empty">
      <h2>This store is empty</h2>
      <p>Drop a profile anywhere on this page to look at it, or import the profiles of your benchmarks:</p>
      <pre class="command" tabIndex={0} aria-label="Command">{`dendro import --store ${where} --run NAME --benchmark NAME cpu.pb.gz`}</pre>
      <p>Or send the traces of your services: give SkyWalking agents this server's gRPC address.</p>
    </div>
  );
}
