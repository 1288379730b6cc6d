// What changed and why we think so: the evidence behind a finding and a benchmark.
import { useMemo } from 'preact/hooks';
import type { Candidate, Change, ContextStep, Expansion, Finding, JudgedBenchmark } from '../core/answers';
import { amount, commit, counted, number, percent, signed, visible } from '../core/format';
import { benchmarkName, change, interval, metric, shortName, splitName } from '../core/metric';
import { withoutFlags } from '../core/request';
import { carried } from '../core/scope';
import { selectorOfAny } from '../core/pushed';
import { formatNames } from '../core/selection';
import { Embedded, source } from '../core/source';
import { href, withChanges } from '../core/url';
import { Acknowledge } from './Acknowledge';
import { axisOf, banded, type Mark, Plot } from './Plot';
import { Fn } from './Fn';
import { sortBy, useSort } from './Table';
import { copy } from './Tip';
import { Plain, type PlainColumn, Terms } from './Plain';
import { isWeb, Outside } from './Outside';

const kinds: Record<Change['kind'], string> = {
  regression: 'regression',
  leak: 'leak',
  widespread: 'widespread slowdown',
  slowdown: 'slowdown',
  improvement: 'improvement',
  moved: 'moved work',
  environment: 'environment',
};

export const costs = (c: Finding): boolean => c.kind === 'regression' || c.kind === 'leak' || c.kind === 'widespread' || c.kind === 'slowdown';

export const past = (c: Finding): boolean => c.status === 'transient' || c.kind === 'moved';

/** What a finding is, in a word. */
export function verdict(c: Finding): string {
  if (c.status === 'transient') return 'past';
  if (costs(c)) return 'slower';
  return c.kind === 'improvement' ? 'faster' : kinds[c.kind];
}

/** The class of its colour. */
export const tone = (c: Finding): string => (c.acknowledged || past(c) || c.status === 'ended' ? 'dim' : costs(c) ? 'more' : c.kind === 'improvement' ? 'less' : 'dim');

/** The first columns of every plain table of changes. */
export const changeColumns = (time: string): PlainColumn<Finding>[] => [
  {
    title: 'Verdict',
    class: tone,
    cell: c => (
      <>
        {verdict(c)}, <small>{c.change?.state ?? c.status}</small>
      </>
    ),
  },
  { title: 'Change', numeric: true, class: tone, cell: c => <b>{signed(c.delta.share, percent)}</b> },
  { title: time, numeric: true, cell: c => (c.delta.time ? change(c.delta.time.value, c.delta.time.unit) : '–') },
];

type Address = Record<string, string | readonly string[]>;

/** The diff of the sides of a finding: it has the finding's numbers. */
export function diffOf(c: Finding): Address | undefined {
  const s = c.sides;
  if (s?.service) {
    const labels = (values: string[]) => selectorOfAny(s.label!, values);
    return { service: s.service, type: s.pushed!, 'base-labels': labels(s.base), 'head-labels': labels(s.head) };
  }
  return s && { group: c.group ?? '', benchmark: c.benchmark, type: c.type, 'base-run': s.base, 'head-run': s.head, against: s.against ?? '' };
}

/** The page of what a change is of: a benchmark, or what a service pushes; with a function, its course over the releases. */
export function pageOf(c: Change, fn?: string): string {
  const s = c.sides;
  if (s?.service) return href('services', { service: s.service, type: s.pushed!, by: s.label!, function: fn ?? null });
  if (fn) return href('function', { ...carried(), function: fn, type: c.type });
  return href('benchmark', { ...carried(), group: c.group, benchmark: c.benchmark });
}

/** The diff with the guilty path selected; undefined in a report without it. */
export function diffLink(c: Finding): string | undefined {
  const to = diffOf(c);
  if (!to) return undefined;
  const s = source.value;
  if (s instanceof Embedded && !s.has('diff', withChanges(new URLSearchParams(), to))) return undefined;
  return href('diff', { ...to, sel: formatNames(c.path ?? []) });
}

/** The change in the user's own code, as text. */
function label(c: Finding, name: (function_: string) => string): string {
  const h = c.headline;
  if (!h) return c.function ? name(c.function) : (c.note ?? kinds[c.kind]);
  const named = h.file?.replace(/.*[/\\]/, '');
  const file = named && !h.function.includes(named.replace(/\.(java|kt|scala)$/, '')) && named; // a class has its name
  return `${name(h.function)}${h.calls ? ` → ${name(h.calls)}` : ''}${file ? ` (${visible(file)})` : ''}`;
}

/** The change in the user's own code: "pricing.matchRule → regexp.MustCompile (rule.go)". Lists know no
 *  lines of calls, which are read from original files: the evidence has them. */
export function Title({ c, short = false }: { c: Finding; short?: boolean }) {
  const h = c.headline;
  if (short) return <span title={label(c, visible)}>{label(c, x => shortName(visible(x)))}</span>;
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
      {file && <small>{` (${visible(file)})`}</small>}
    </span>
  );
}

/** The evidence of a change: what it costs, where, since when, and how it looked over the runs. */
export function FindingEvidence({ c, b, light, row = c }: { c: Change; b: JudgedBenchmark | undefined; light?: JudgedBenchmark | undefined; row?: Change /* of the list, with the other benchmarks */ }) {
  const candidate = b?.candidates.find(x => x.finding === c.id);
  const diff = diffLink(c);
  const name = c.headline?.function ?? c.function;
  const { offline } = source.value;
  const command = reproduction(c, b ?? light);
  return (
    <div class="evidence">
      <div class="actions">
        {diff && (
          <a class="button primary" href={diff} title="of the runs before and after, at what grew">
            Diff
          </a>
        )}
        {name && !offline && (
          <a class="button" href={pageOf(c, name)} title="of this function">
            History
          </a>
        )}
        {!offline && (
          <a class="button" href={pageOf(c)}>
            {c.sides?.service ? 'Service' : 'Benchmark'}
          </a>
        )}
        {command && (
          <button type="button" title={`copy ${command}`} onClick={() => void copy(command, 'command')}>
            Reproduce
          </button>
        )}
        <button type="button" title="copy it as the text of an issue" onClick={() => void copy(issueText(c, command), 'text of an issue')}>
          Issue
        </button>
        {costs(c) && !offline && <Acknowledge c={row} />}
      </div>
      <Facts c={c} read={b !== undefined} />
      {(c.code?.lines.length ?? 0) > 0 && <Lines of={c.code!.lines} />}
      {!!c.code?.moreLines && <p class="dim">{counted(c.code.moreLines, 'more changed line')}</p>}
      {c.path && c.path.length > 0 && <PathOf c={c} />}
      {candidate && b && <LevelPlot candidate={candidate} b={b} />}
      <Reasons title="Explained by" of={c.explained} />
      <Reasons title="Ruled out" of={c.ruledOut} />
      {candidate?.contexts && b && <Contexts of={candidate} b={b} />}
    </div>
  );
}

/** A change at a glance, of what its list knows: the metric over the runs, and the call path. */
export function Glance({ c, b }: { c: Change; b: JudgedBenchmark | undefined }) {
  const diff = diffLink(c);
  return (
    <section class="card two" aria-label="At a glance">
      <div class="evidence">
        <h2>
          <Title c={c} />
        </h2>
        {b?.metric ? <MetricPlot b={b} of={c} height={300} /> : <Facts c={c} read={false} />}
      </div>
      <div class="evidence">
        <p class="actions">
          {visible(c.sides?.service ?? benchmarkName(c))}
          {diff && (
            <a class="button" href={diff}>
              Diff
            </a>
          )}
        </p>
        {b?.metric && <Facts c={c} read={false} />}
        {c.path && c.path.length > 0 && <PathOf c={c} />}
      </div>
    </section>
  );
}

/** Explanations of a change, with what supports them. */
function Reasons({ title, of }: { title: string; of?: { cause: string; evidence: string }[] | undefined }) {
  if (!of || of.length === 0) return null;
  return (
    <section>
      <h3>{title}</h3>
      <ul>
        {of.map(x => (
          <li key={x.cause}>
            <b>{visible(x.cause)}</b>: {visible(x.evidence)}
          </li>
        ))}
      </ul>
    </section>
  );
}

/** Says what a score is, where one stands. */
export const scoreHint = 'how many standard deviations of the noise the change is; a finding needs more than the threshold of its benchmark';

/** The candidates of a benchmark, sortable, each with the traces in which it changed. */
function Candidates({ b }: { b: JudgedBenchmark }) {
  const { sort, onSort } = useSort('', ['function']);
  const list = sort.id ? sortBy([...b.candidates], c => c[sort.id as 'score'], sort.descending) : b.candidates;
  const column = (id: keyof Candidate, title: string, cell: (c: Candidate) => preact.ComponentChildren, more: Partial<PlainColumn<Candidate>> = {}): PlainColumn<Candidate> => ({
    title: (
      <button type="button" onClick={() => onSort(id)}>
        {title}
      </button>
    ),
    sorted: sort.id === id ? (sort.descending ? 'descending' : 'ascending') : undefined,
    cell,
    ...more,
  });
  const name = (c: Candidate) => (
    <>
      {source.value.offline ? (
        <Fn name={c.function} />
      ) : (
        <a href={href('function', { ...carried(), function: c.function, type: b.type })}>
          <Fn name={c.function} />
        </a>
      )}
      {c.self && <small class="dim"> self</small>}
    </>
  );
  return (
    <>
      <Plain
        class="candidates"
        caption={`Candidates of ${visible(benchmarkName(b))}`}
        rows={list}
        columns={[
          column('function', 'Candidate', name),
          column('expected', 'Expected', c => level(c, b)(c.expected), { numeric: true, hint: 'mean of the history; a run without the function counts as 0' }),
          column('actual', 'Measured', c => level(c, b)(c.actual), { numeric: true }),
          column('diff', 'Difference', c => signed(c.diff, level(c, b)), { numeric: true, class: c => (c.finding ? (c.diff > 0 ? 'more' : 'less') : 'dim') }),
          column('score', 'Score', c => c.score.toFixed(digitsOf(c)), { numeric: true, hint: scoreHint }),
          column('status', 'Status', c => (c.status === '-' ? '−' : c.status), { hint: '+ first seen in the tested runs, − seen before and not now' }),
        ]}
      />
      {list.map(c => c.contexts && <Traces key={`${c.function} ${c.self}`} name={c.function} of={c.contexts} digits={digitsOf(c)} unit={b.unit} scale={b.scale} />)}
    </>
  );
}

const digitsOf = (c: Candidate): number => (c.method === 'correlation' ? 3 : 1);

/** The traces of a function, as in appendix B of the paper: of its callees the function last, of its callers first. */
export function Traces({ name, of, unit, scale = 0, digits = 1 }: { name: string; of: Expansion; unit: string; scale?: number | undefined; digits?: number }) {
  const value = (v: number) => signed(v / 10 ** scale, x => amount(x, unit));
  const weighed = [...of.children, ...of.parents].some(path => path.some(s => s.why));
  const table = (title: string, paths: ContextStep[][], upwards: boolean) =>
    paths.length > 0 && (
      <details>
        <summary>{`${title} (${paths.length})`}</summary>
        {paths.map((steps, i) => (
          <Plain
            key={i}
            class="contexts"
            rows={upwards ? [...steps].reverse() : steps}
            columns={[
              { title: 'Trace', cell: s => <Fn name={s.function} /> },
              { title: 'Difference', hint: "of the row's function in this context", numeric: true, cell: s => value(s.diff) },
              { title: 'Of the candidate', hint: 'of the candidate in this context', numeric: true, cell: s => value(s.candidateDiff) },
              { title: 'Its score', hint: 'of the candidate in this context', numeric: true, cell: s => s.candidateScore?.toFixed(digits) },
              { title: 'Status', cell: s => (s.status === '-' ? '−' : s.status) },
              weighed && { title: 'Why', hint: 'why the path goes on with this function, and by which factor', cell: s => s.why && `×${s.weight!.toFixed(2)}: ${visible(s.why.map(w => w.distance).join('; '))}` },
            ]}
          />
        ))}
      </details>
    );
  return (
    <details class="traces">
      <summary>
        Traces of <Fn name={name} />
      </summary>
      {table('Child traces', of.children, true)}
      {table('Parent traces', of.parents, false)}
    </details>
  );
}

/** The evidence of a benchmark as a whole: its metric, and the functions that moved most. */
export function BenchmarkEvidence({ b }: { b: JudgedBenchmark }) {
  const plotted = b.candidates.filter(c => c.method || c.requested);
  return (
    <div class="evidence">
      {b.runs.length > 0 && <MetricPlot b={b} />}
      {[...(b.reason ? [b.reason] : []), ...b.warnings, ...b.leftOut.map(x => `${counted(x.runs, 'run')} left out: ${x.reason}`)].map(w => (
        <p key={w} class="dim">
          {visible(withoutFlags(w))}
        </p>
      ))}
      {b.candidates.length > 0 && <Candidates b={b} />}
      {plotted.map(c => (
        <LevelPlot key={c.function} candidate={c} b={b} />
      ))}
    </div>
  );
}

/** By how much the whole program changed, and how much of that a change explains; empty if it is unknown, or about the same. */
export function wholeText(life: Change['change']): string {
  const part = life?.explains ?? 0;
  if (!life?.program || !part || Math.abs(part - 1) <= 0.1) return '';
  return signed(life.program.value, percent) + (part > 0 && part < 1 ? `, ${percent(part)} of that is this change` : '');
}

/** What is known of a change. Which line calls is known once the evidence is read: lists would name a declaration. */
export function Facts({ c, read }: { c: Change; read: boolean }) {
  const time = c.delta.time;
  const rows: [string, preact.ComponentChildren][] = [];
  if (time) rows.push(['cost', `${change(time.value, time.unit)}, 95% interval ${interval(time.value, time.low, time.high, time.unit)}`]);
  rows.push([
    'samples',
    `${signed(c.delta.samples, number)} per run, ${signed(c.delta.share, percent)} of the program before; ${c.headline ? splitName(c.headline.function)[1] : 'the function'} had ${Math.abs(c.delta.base - 1) < 1e-9 ? 'nearly all' : percent(c.delta.base)} then`,
  ]);
  const whole = wholeText(c.change);
  if (whole) rows.push(['program', whole]);
  if (c.caller && c.caller !== c.headline?.function) rows.push(['called by', <Fn name={c.caller} />]);
  rows.push([
    'since',
    <>
      {visible(`${c.since.run}, last good ${c.since.lastGood ?? ''}${c.change?.end ? `, ended with ${c.change.end.run}` : ''}; `)}
      <abbr title={scoreHint}>{`score ${c.score.toFixed(1).replace('-', '−')}`}</abbr>
    </>,
  ]);
  if (c.file) {
    const text = `${visible(c.file)}${c.line && read ? `:${c.line}${c.line === c.headline?.call ? '' : ' (declaration)'}` : ''}${c.at && c.at !== c.function && c.at !== c.headline?.function ? `, ${visible(shortName(c.at))}` : ''}`;
    rows.push([
      'code',
      isWeb(c.link) || source.value.offline ? (
        <Outside to={c.link}>{text}</Outside>
      ) : (
          <a href={href('function', { ...carried(), function: c.at ?? c.function ?? '', group: c.group, benchmark: c.benchmark, type: c.type, lines: true })} title="its lines, with self and total">
            {text}
          </a>
      ),
    ]);
  }
  for (const d of c.code?.dependencies ?? []) rows.push(['bumped', visible(`${d.name} ${d.base || 'none'} → ${d.head || 'none'} (${d.file})`)]);
  for (const x of c.code?.commits ?? [])
    rows.push([
      'commit',
      <>
        <Outside to={x.link}>{commit(x.commit)}</Outside>
        {visible(` ${x.subject} (${x.author})`)}
      </>,
    ]);
  if (c.code?.moreCommits) rows.push(['', counted(c.code.moreCommits, 'more commit')]);
  if (isWeb(c.code?.link)) rows.push(['difference', <Outside to={c.code!.link}>{visible(c.code!.link!)}</Outside>]);
  if (c.owners?.length) rows.push(['owners', visible(c.owners.join(' '))]);
  if (c.also.length)
    rows.push(['also in', visible(c.also.map(x => `${benchmarkName(x)} ${signed(x.delta.share, percent)}`).join(', '))]);
  if (c.note && c.function) rows.push(['note', c.note]);
  if (c.acknowledged)
    rows.push([
      'accepted',
      visible(
        [
          c.acknowledged.by && `by ${c.acknowledged.by}`,
          c.acknowledged.at && `on ${c.acknowledged.at.slice(0, 10)}`,
          c.acknowledged.until && `until ${c.acknowledged.until.slice(0, 10)}`,
        ]
          .filter(Boolean)
          .join(' ') + (c.acknowledged.reason ? `: ${c.acknowledged.reason}` : ''),
      ),
    ]);
  return <Terms of={rows} />;
}

/** The command that measures the last good and the first bad commit in turns; empty if they are unknown. */
export function reproduction(c: Change, b: JudgedBenchmark | undefined): string {
  const good = b?.runs.find(r => r.run === c.since.lastGood)?.commit;
  const word = (s: string) => (/^[\w./-]+$/.test(s) ? s : `'${s.replace(/'/g, "'\\''")}'`);
  if (!good || !c.since.commit || good === c.since.commit) return '';
  const command = c.file?.endsWith('.go') || c.headline?.file?.endsWith('.go') ? `go test -bench ${word(`^${c.benchmark.replace(/[^\w/].*/, '')}`)} ./...` : 'COMMAND OF THE BENCHMARK';
  return `dendro bench --base ${word(good)} --head ${word(c.since.commit)} --count 4 -- ${command}`;
}

/** A finding as the text of an issue, in Markdown. */
export function issueText(c: Change, command: string): string {
  const code = (s: string) => `\`${visible(s).replace(/`/g, "'")}\``;
  const time = c.delta.time;
  const lines = [
    `# ${code(benchmarkName(c))}: ${signed(c.delta.share, percent)} in ${code(label(c, shortName))}`,
    '',
    `- ${kinds[c.kind]}, ${c.status}${time ? `: ${change(time.value, time.unit)}, 95% interval ${interval(time.value, time.low, time.high, time.unit)}` : ''}`,
    `- value type ${code(c.type)}, score ${c.score.toFixed(1)}, finding ${code(c.id)}`,
    `- first run with it: ${code(c.since.run)}${c.since.commit ? ` at commit ${code(c.since.commit)}` : ''}; last good run: ${code(c.since.lastGood ?? 'unknown')}`,
  ];
  for (const x of c.code?.commits ?? []) lines.push(`- commit ${code(commit(x.commit))} ${visible(x.subject)} (${visible(x.author)})`);
  if (c.path?.length) lines.push('', 'Call path:', '', ...c.path.map((f, i) => `${'  '.repeat(Math.min(i, 10))}- ${code(f)}`));
  if (command) lines.push('', 'To reproduce it:', '', '```sh', command, '```');
  if (!source.value.offline) lines.push('', `${globalThis.location?.origin ?? ''}${href('home', { ...carried(), change: c.id })}`);
  return `${lines.join('\n')}\n`;
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
      <ol class="path" aria-label="Call path">
        {path.map((f, i) => (
          <li
            key={i}
            title={visible(f)}
            class={f === (c.headline?.function ?? c.function) || f === c.function ? 'guilty' : ''}
            style={{ paddingLeft: `${Math.min(i, 12) * 12}px` }}
          >
            <Fn name={f} />
          </li>
        ))}
        {(c.parts ?? []).slice(0, 5).map(p => (
          <li key={p.path.join('\n')} class="part" style={{ paddingLeft: `${Math.min(path.length, 12) * 12}px` }}>
            <span class="more num">{signed(p.delta, number)}</span> <Fn name={p.function} /> <small>samples per run</small>
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
  const plot = useMemo(() => plotOf(b, candidate.levels, candidate.band, true), [candidate, b]);
  const write = level(candidate, b);
  const what = candidate.absolute ? 'Total' : 'Share';
  return (
    <section>
      <h3>
        {`${what}${candidate.finding ? ' of the program' : ` of ${visible(candidate.function)}`} over the runs `}
        <small>{`${write(candidate.expected)} expected, ${write(candidate.actual)} measured`}</small>
      </h3>
      <Plot label={`${what} of ${candidate.function} over ${b.runs.length} runs: ${write(candidate.expected)} before, ${write(candidate.actual)} now`} {...plot} height={170} format={write} />
    </section>
  );
}

/** The metric of a benchmark over its runs; of a change, with its onset. */
export function MetricPlot({ b, of, height = 180 }: { b: JudgedBenchmark; of?: Change; height?: number }) {
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
  const index = of ? b.runs.findIndex(r => r.run === of.since.run) : -1;
  const marks: Mark[] = of && index >= 0 ? [{ index, label: `since ${of.since.run}`, kind: costs(of) ? 'worse' : 'better' }] : plot.marks;
  return <Plot label={`${m.name} of ${b.benchmark} over ${b.runs.length} runs`} {...plot} marks={marks} height={height} format={v => metric(v, m.unit)} />;
}

function plotOf(b: JudgedBenchmark, values: (number | null)[], band: { mean: number; deviation: number }[], lowerIsBetter: boolean) {
  const first = b.runs.findIndex(r => r.tested);
  const width = b.bandWidth ?? 2;
  const marks: Mark[] = [];
  const v = values[first];
  const expected = band[first];
  if (first >= 0 && v !== null && v !== undefined && expected && Math.abs(v - expected.mean) > width * expected.deviation)
    marks.push({ index: first, label: 'first tested run', kind: v > expected.mean === lowerIsBetter ? 'worse' : 'better' });
  return { ...banded(values, band, width), ...axisOf(b.runs), marks };
}

const shownContexts = 6;

function Contexts({ of, b }: { of: Candidate; b: JudgedBenchmark }) {
  const rows = (paths: ContextStep[][]) => (
    <Plain
      class="contexts"
      rows={paths}
      columns={[
        {
          title: 'Context',
          cell: steps =>
            steps.map((s, j) => (
              <div key={j} style={{ paddingLeft: `${j * 12}px` }}>
                <Fn name={s.function} />
              </div>
            )),
        },
        { title: 'Difference', numeric: true, class: steps => (steps.at(-1)!.diff > 0 ? 'more' : 'less'), cell: steps => signed(steps.at(-1)!.diff / 10 ** (b.scale ?? 0), v => amount(v, b.unit)) },
      ]}
    />
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
        Contexts in which it changed <small>the difference is of the last function&apos;s own time in the tested runs</small>
      </h3>
      {list('Callees', of.contexts!.children)}
      {list('Callers', of.contexts!.parents)}
    </section>
  );
}
