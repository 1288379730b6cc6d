// What changed and why we think so: the cards of findings, on the page of regressions and
// in reports.
import { useMemo, useState } from 'preact/hooks';
import type { Candidate, Change, ContextStep, JudgedBenchmark, ReportDocument } from '../core/answers';
import { amount, commit, counted, percent, signed, visible } from '../core/format';
import { benchmarkName, change, interval, metric, splitName } from '../core/metric';
import { Embedded, source } from '../core/source';
import { href, withChanges } from '../core/url';
import { Acknowledge } from './Acknowledge';
import { Band, type Mark } from './Band';
import { Fn } from './Fn';
import { useKeys } from './Keys';

const kinds: Record<Change['kind'], string> = {
  regression: 'regression',
  leak: 'leak',
  widespread: 'widespread slowdown',
  slowdown: 'slowdown',
  improvement: 'improvement',
  moved: 'moved work',
  environment: 'environment',
};

export const costs = (c: Change): boolean => c.kind === 'regression' || c.kind === 'leak' || c.kind === 'widespread' || c.kind === 'slowdown';

type Address = Record<string, string | readonly string[]>;

const leastRuns = 3; // of a band

/** The diff of the runs that were compared: against the average of those before, as reports have it. */
export function diffOf(c: Change, b: JudgedBenchmark): Address {
  const keys = (tested: boolean) => b.runs.filter(r => !!r.tested === tested).map(r => r.run);
  const before = keys(false);
  const against = before.length < leastRuns ? '' : 'history';
  return { group: c.group ?? '', benchmark: c.benchmark, type: c.type, 'base-run': before, 'new-run': keys(true), against };
}

/** The diff with the guilty path selected; undefined in a report without it. */
export function diffLink(c: Change, b: JudgedBenchmark | undefined): string | undefined {
  if (!b || b.runs.length === 0) return undefined;
  const to = diffOf(c, b);
  const s = source.value;
  if (s instanceof Embedded && !s.has('diff', withChanges(new URLSearchParams(), to))) return undefined;
  return href('diff', { ...to, sel: pathText(c.path ?? []) });
}

/** A call path by names, as core/selection.ts reads it. */
const pathText = (path: readonly string[]): string => (path.length > 0 ? `p.${path.map(f => f.replace(/[\\;]/g, '\\$&')).join(';')}` : '');

/** The change in the user's own code: "pricing.matchRule → regexp.MustCompile (rule.go:29)". */
export function Title({ c }: { c: Change }) {
  const h = c.headline;
  if (!h) return c.function ? <Fn name={c.function} /> : <span>{c.note ?? kinds[c.kind]}</span>;
  const file = h.file?.replace(/.*[/\\]/, '');
  return (
    <span class="headline">
      <Fn name={h.function} />
      {h.calls && (
        <span class="calls">
          {' → '}
          <Fn name={h.calls} />
        </span>
      )}
      {file && <small>{` (${visible(file)}${h.line ? `:${h.line}` : ''})`}</small>}
    </span>
  );
}

const isNew = (c: Change): boolean => (c.headline ? !!c.headline.new : c.presence === 'new');

export function Findings({ doc }: { doc: ReportDocument }) {
  const shown = doc.changes.filter(c => c.status !== 'transient' && c.kind !== 'moved');
  const groups: [string, Change[]][] = [
    ['Became slower', shown.filter(c => costs(c) && !c.acknowledged)],
    ['Accepted', shown.filter(c => costs(c) && c.acknowledged)],
    ['Became faster', shown.filter(c => c.kind === 'improvement')],
    ['Environment', shown.filter(c => c.kind === 'environment')],
  ];
  const rest = doc.changes.filter(c => !shown.includes(c));
  useKeys([
    { keys: '[', help: 'the finding before', run: () => stepFinding(-1) },
    { keys: ']', help: 'the next finding', run: () => stepFinding(1) },
  ]);
  const open = groups.find(([, list]) => list.length > 0)?.[1][0];
  return (
    <>
      {groups.map(
        ([title, list]) =>
          list.length > 0 && (
            <section key={title} class="findings">
              <h2>{`${title} (${list.length})`}</h2>
              {list.map(c => (
                <FindingCard key={c.id} c={c} doc={doc} open={c === open} />
              ))}
            </section>
          ),
      )}
      {rest.length > 0 && (
        <details>
          <summary>
            {counted(rest.length, 'change')} not shown above: moved work, and changes that only the run before the newest had
          </summary>
          <div class="findings">
            {rest.map(c => (
              <FindingCard key={c.id} c={c} doc={doc} />
            ))}
          </div>
        </details>
      )}
    </>
  );
}

/** Moves the focus to the finding before or after the one that has it. */
function stepFinding(by: number): void {
  const list = [...document.querySelectorAll<HTMLElement>('.finding > summary')];
  const at = list.findIndex(e => e.parentElement!.contains(document.activeElement));
  list[at < 0 ? (by > 0 ? 0 : list.length - 1) : at + by]?.focus();
}

function FindingCard({ c, doc, open = false }: { c: Change; doc: ReportDocument; open?: boolean }) {
  const [shown, show] = useState(open);
  const b = doc.benchmarks.find(x => x.group === c.group && x.benchmark === c.benchmark && x.type === c.type);
  const candidate = b?.candidates.find(x => x.finding === c.id);
  const worse = costs(c) && !c.acknowledged;
  const time = c.delta.time;
  const diff = diffLink(c, b);
  const fn = { function: c.headline?.function ?? c.function ?? '', type: c.type };
  return (
    <details class={`card finding ${worse ? 'worse' : ''}`} open={open} onToggle={e => show(e.currentTarget.open)}>
      <summary>
        <span class="what">
          <Title c={c} />
        </span>
        <span class={`cost ${c.delta.share > 0 ? 'more' : 'less'}`}>
          {time ? change(time.value, time.unit) : signed(c.delta.share, percent)}
          {time && <small> {signed(c.delta.share, percent)}</small>}
        </span>
        <span class="where">
          <span class="pill">{kinds[c.kind]}</span> {c.status !== 'confirmed' && <span class="pill">{c.status}</span>}{' '}
          {isNew(c) && <span class="pill">new</span>} {c.presence === 'vanished' && <span class="pill">vanished</span>}{' '}
          {c.fails && <span class="pill more">fails the gate</span>} {visible(benchmarkName(c))} since {visible(c.since.run)}
          {c.since.commit && (
            <>
              {' '}
              at <code>{commit(c.since.commit)}</code>
            </>
          )}
        </span>
      </summary>
      {shown && (
        <div class="evidence">
          <div class="actions">
            {diff && (
              <a class="button primary" href={diff}>
                See what grew in the diff
              </a>
            )}
            {c.function && !source.value.offline && (
              <a class="button" href={href('function', fn)}>
                Function over time
              </a>
            )}
            {!source.value.offline && (
              <a class="button" href={href('benchmark', { group: c.group, benchmark: c.benchmark })}>
                Benchmark
              </a>
            )}
            {worse && !source.value.offline && <Acknowledge c={c} />}
          </div>
          <Facts c={c} />
          {c.path && c.path.length > 0 && <PathOf c={c} />}
          {candidate && b && <LevelPlot candidate={candidate} b={b} />}
          {c.ruledOut && c.ruledOut.length > 0 && (
            <section>
              <h3>Ruled out</h3>
              <ul>
                {c.ruledOut.map(x => (
                  <li key={x.cause}>
                    <b>{x.cause}</b>: {x.evidence}
                  </li>
                ))}
              </ul>
            </section>
          )}
          {candidate?.contexts && b && <Contexts of={candidate} b={b} />}
        </div>
      )}
    </details>
  );
}

function Facts({ c }: { c: Change }) {
  const time = c.delta.time;
  const rows: [string, preact.ComponentChildren][] = [];
  if (time) rows.push(['cost', `${change(time.value, time.unit)}, 95% interval ${interval(time.value, time.low, time.high, time.unit)}`]);
  rows.push([
    'samples',
    `${signed(c.delta.samples, v => v.toFixed(1))} per run, ${signed(c.delta.share, percent)} of the program before; ${c.headline ? splitName(c.headline.function)[1] : 'the function'} had ${percent(c.delta.before)} then`,
  ]);
  if (c.caller && c.caller !== c.headline?.function) rows.push(['called by', <Fn key="f" name={c.caller} />]);
  rows.push(['since', `${visible(c.since.run)}, last good ${visible(c.since.lastGood ?? '')}; score ${c.score.toFixed(1)}`]);
  if (c.file)
    rows.push(['code', `${visible(c.file)}${c.line ? `:${c.line}` : ''}${c.at && c.at !== c.function ? `, ${visible(c.at)}` : ''}`]);
  for (const x of c.code?.commits ?? []) rows.push(['commit', visible(`${commit(x.commit)} ${x.subject} (${x.author})`)]);
  if (c.owners?.length) rows.push(['owners', visible(c.owners.join(' '))]);
  if (c.also.length > 0) rows.push(['also in', visible(c.also.map(benchmarkName).join(', '))]);
  if (c.note && c.function) rows.push(['note', c.note]);
  if (c.acknowledged)
    rows.push([
      'accepted',
      `${visible(c.acknowledged.reason ?? '')}${c.acknowledged.until ? `, until ${c.acknowledged.until.slice(0, 10)}` : ''}`,
    ]);
  return (
    <dl class="facts">
      {rows.map(([k, v], i) => (
        <div key={`${i} ${k}`}>
          <dt>{k}</dt>
          <dd>{v}</dd>
        </div>
      ))}
      {(c.code?.lines.length ?? 0) > 0 && <Lines of={c.code!.lines} />}
    </dl>
  );
}

/** The changed lines of the commits since the last good run, by file. */
function Lines({ of }: { of: NonNullable<Change['code']>['lines'] }) {
  const files = [...new Set(of.map(l => l.file))];
  return (
    <div class="changed">
      {files.map(file => (
        <figure key={file}>
          <figcaption>{visible(file)}</figcaption>
          <pre tabIndex={0} aria-label={`Changed lines of ${visible(file)}`}>
            {of
              .filter(l => l.file === file)
              .map((l, i) => (
                <span key={i} class={l.sign === '+' ? 'added' : l.sign === '-' ? 'removed' : ''}>
                  <i>{l.line}</i>
                  {visible(`${l.sign || ' '} ${l.text.replace(/\t/g, '    ')}`)}
                  {'\n'}
                </span>
              ))}
          </pre>
        </figure>
      ))}
    </div>
  );
}

function PathOf({ c }: { c: Change }) {
  const path = c.path ?? [];
  return (
    <section>
      <h3>Call path</h3>
      <ol class="path" tabIndex={0} aria-label="Call path">
        {path.map((f, i) => (
          <li
            key={i}
            class={f === (c.headline?.function ?? c.function) || f === c.function ? 'guilty' : ''}
            style={{ paddingLeft: `${Math.min(i, 12) * 12}px` }}
          >
            <Fn name={f} />
          </li>
        ))}
        {(c.parts ?? []).slice(0, 5).map(p => (
          <li key={p.path.join('\n')} class="part" style={{ paddingLeft: `${Math.min(path.length, 12) * 12}px` }}>
            <span class="more num">{signed(p.delta, v => v.toFixed(1))}</span> <Fn name={p.function} /> <small>samples per run</small>
          </li>
        ))}
      </ol>
    </section>
  );
}

/** Formats the levels of a candidate: shares, or totals of the paper's ranking. */
export const level = (c: Candidate, b: JudgedBenchmark) => (v: number) =>
  c.absolute ? amount(v / 10 ** (b.scale ?? 0), b.unit) : percent(v);

/** A candidate over the runs of its benchmark. */
export function LevelPlot({ candidate, b }: { candidate: Candidate; b: JudgedBenchmark }) {
  const { series, names, marks } = useMemo(() => plotOf(b, candidate.levels, candidate.band, true), [candidate, b]);
  const write = level(candidate, b);
  const what = candidate.absolute ? 'Total' : 'Share';
  return (
    <section>
      <h3>
        {`${what}${candidate.finding ? ' of the program' : ` of ${visible(candidate.function)}`} over the runs `}
        <small>{`${write(candidate.expected)} expected, ${write(candidate.actual)} measured`}</small>
      </h3>
      <Band
        label={`${what} of ${candidate.function} over ${b.runs.length} runs: ${write(candidate.expected)} before, ${write(candidate.actual)} now`}
        series={series}
        names={names}
        marks={marks}
        height={170}
        format={write}
      />
    </section>
  );
}

/** The metric of a benchmark over its runs. */
export function MetricPlot({ b }: { b: JudgedBenchmark }) {
  const m = b.metric;
  const plot = useMemo(
    () =>
      m &&
      plotOf(
        b,
        m.values.map(v => (v === 0 ? null : v)),
        m.band,
        m.better !== 'higher',
      ),
    [b],
  );
  if (!m || !plot) return <p class="dim">No metric was imported with these runs.</p>;
  return <Band label={`${m.name} of ${b.benchmark} over ${b.runs.length} runs`} {...plot} height={180} format={v => metric(v, m.unit)} />;
}

function plotOf(b: JudgedBenchmark, values: (number | null)[], band: { mean: number; deviation: number }[], lowerIsBetter: boolean) {
  const first = b.runs.findIndex(r => r.tested);
  const marks: Mark[] = [];
  const v = values[first];
  const expected = band[first];
  if (first >= 0 && v !== null && v !== undefined && expected && Math.abs(v - expected.mean) > 2 * expected.deviation)
    marks.push({ index: first, label: 'first tested run', kind: v > expected.mean === lowerIsBetter ? 'worse' : 'better' });
  return {
    series: {
      x: values.map((_, i) => i),
      values,
      mean: band.map(l => l.mean),
      low: band.map(l => Math.max(0, l.mean - 2 * l.deviation)),
      high: band.map(l => l.mean + 2 * l.deviation),
    },
    names: b.runs.map(r => visible(r.run)),
    marks,
  };
}

const shownContexts = 6;

function Contexts({ of, b }: { of: Candidate; b: JudgedBenchmark }) {
  const rows = (paths: ContextStep[][]) => (
    <table class="plain contexts">
      <tbody>
        {paths.map((steps, i) => {
          const last = steps[steps.length - 1];
          return (
            <tr key={i}>
              <td>
                {steps.map((s, j) => (
                  <div key={j} style={{ paddingLeft: `${j * 12}px` }}>
                    <Fn name={s.function} />
                  </div>
                ))}
              </td>
              <td class={`num ${last && last.diff > 0 ? 'more' : 'less'}`}>
                {last && signed(last.diff / 10 ** (b.scale ?? 0), v => amount(v, b.unit))}
              </td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
  const list = (title: string, paths: ContextStep[][]) =>
    paths.length > 0 && (
      <details open>
        <summary>{`${title} (${paths.length})`}</summary>
        {rows(paths.slice(0, shownContexts))}
        {paths.length > shownContexts && (
          <details class="rest">
            <summary>{`${paths.length - shownContexts} more`}</summary>
            {rows(paths.slice(shownContexts))}
          </details>
        )}
      </details>
    );
  return (
    <section>
      <h3>
        Contexts in which it changed <small>the change is of the last function&apos;s own time in the tested runs</small>
      </h3>
      {list('Callees', of.contexts!.children)}
      {list('Callers', of.contexts!.parents)}
    </section>
  );
}
