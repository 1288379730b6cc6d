// Where the time goes: functions by their share of the program, or by how closely they follow the
// time, and beside them the call paths and the values in all runs of the selected one.
import { useState } from 'preact/hooks';
import type { BottleneckPlot, BottleneckRow, Bottlenecks as Ranking } from '../core/answers';
import { amount, counted, counting, percent, visible } from '../core/format';
import { benchmarkName, metric, shortName } from '../core/metric';
import { carried } from '../core/scope';
import { formatNames } from '../core/selection';
import { source } from '../core/source';
import { href, place } from '../core/url';
import { Traces } from '../ui/Evidence';
import { Crumbs } from '../ui/Crumbs';
import { Fn } from '../ui/Fn';
import { Await, useAnswer } from '../ui/Load';
import { Page } from '../ui/Page';
import { Pickers } from '../ui/Pickers';
import { axisOf, Plot } from '../ui/Plot';
import { Scatter } from '../ui/Scatter';
import { By, type InScope, Scoped } from '../ui/Scoped';
import { Spark } from '../ui/Spark';
import { Tabs } from '../ui/Tabs';
import { type Column, Table } from '../ui/Table';
import { Notes, Plain } from '../ui/Plain';
import '../pages.css';

const kinds: Record<string, string> = { own: 'Your own code', self: 'The function itself', subtree: 'With its callees', correlation: 'Correlation with time' };
const page = { rows: '60', contexts: '3', plots: '4' };
const fewest = '8'; // runs of a correlation: with a few, chance puts functions on top

export default function Bottlenecks() {
  return (
    <Scoped title={title} names={[...[...place.value.params.keys()].filter(name => name !== 'sel'), 'branch']}>
      {known => <Ranked {...known} />}
    </Scoped>
  );
}

const title = 'Where the time goes';

function Ranked({ scope, params }: InScope) {
  const asked = new URLSearchParams({ by: 'own', ...page, ...(params.get('by') === 'correlation' && { 'least-occurrences': fewest }) });
  for (const name of params.keys()) {
    asked.delete(name);
    for (const v of params.getAll(name)) asked.append(name, v);
  }
  const answer = useAnswer<Ranking>('bottlenecks', asked);
  const { offline } = source.value;
  const r = answer.value;
  return (
    <Page
      title={title}
      crumbs={<Crumbs of={params} />}
      sub={r && visible(`${counted(r.profiles, 'run')} of ${counted(r.benchmarks, 'benchmark')} · ${counting(r.type.name, r.type.unit)} · ${about[r.rank]}`)}
      actions={
        !offline && (
          <>
            <Pickers scope={scope} show={['branch', 'group', 'type', 'machine', 'since']} type={r?.type.name ?? ''} />
            <By kinds={kinds} now={asked.get('by')!} />
            <a class="button" href={source.value.file('page/bottlenecks', asked)} download="bottlenecks.html">
              Report as a file
            </a>
          </>
        )
      }
    >
      <Tabs />
      <Await of={answer} what="the functions">
        {r => (
          <>
            {r.leftOut && (
              <p>
                {`Left out, without ${visible(r.type.name)}: `}
                {r.leftOut.map((x, i) => (
                  <span key={x.type}>
                    {`${i > 0 ? ', ' : ''}${counted(x.benchmarks, 'benchmark')} with `}
                    {offline ? visible(x.type) : <a href={href('bottlenecks', { ...Object.fromEntries(params), type: x.type })}>{visible(x.type)}</a>}
                  </span>
                ))}
              </p>
            )}
            <Notes of={[...r.warnings, ...(r.expanded?.warnings ?? [])]} />
            <Functions r={r} />
          </>
        )}
      </Await>
    </Page>
  );
}

const about: Record<Ranking['rank'], string> = {
  own: 'each function of yours with the libraries and the runtime that it calls',
  self: 'each function without its callees',
  subtree: 'each function with its callees',
  correlation: 'how closely the share of each function follows the time',
};

/** The functions of a few benchmarks, below their table. */
export function Hottest({ params }: { params: URLSearchParams }) {
  const answer = useAnswer<Ranking>('bottlenecks', new URLSearchParams([...params, ['by', 'own'], ...Object.entries({ ...page, rows: '15', plots: '1' })]));
  const r = answer.value;
  return (
    r && (
      <section class="findings" aria-label={title}>
        <h2>{`${title}: ${visible(r.type.name)} of ${counted(r.benchmarks, 'benchmark')}`}</h2>
        <Functions r={r} />
      </section>
    )
  );
}

/** The functions as a table, and beside it what is known of the selected one. */
function Functions({ r }: { r: Ranking }) {
  const rows = [...r.rows.filter(x => x.score !== 0), ...(r.negative ?? [])];
  const [selected, select] = useState(0);
  const x = rows[selected];
  const several = r.benchmarks > 1;
  const of = (i: number): BottleneckPlot | undefined => rows[i]!.plots?.[0];
  const score = (v: number) => (r.rank === 'correlation' ? `r ${v.toFixed(3)}` : percent(v));
  const perOperation = (i: number) => (of(i)?.cost ? metric(of(i)!.cost!, of(i)!.costUnit!) : '');
  const columns: Column[] = [
    { id: 'function', title: 'Function', text: i => shortName(rows[i]!.function), class: i => (rows[i]!.section && rows[i]!.section !== 'own' ? 'dim' : ''), cell: i => <span title={visible(rows[i]!.function)}><Fn name={shortName(rows[i]!.function)} /></span> },
    { id: 'share', title: r.rank === 'correlation' ? 'Correlation' : 'Share', width: 92, numeric: true, ...(r.rank !== 'correlation' && { bar: (i: number) => rows[i]!.score }), cell: i => score(rows[i]!.score) },
    ...(rows.some((_, i) => of(i) && !of(i)!.x)
      ? [{ id: 'trend', title: 'Trend', hint: 'its share over the runs of the benchmark where it is largest', width: 138, optional: 2, cell: (i: number) => of(i) && <Spark values={of(i)!.points.map(p => p.y)} label={`share over ${of(i)!.points.length} runs of ${benchmarkName(of(i)!)}`} /> }]
      : []),
    ...(rows.some((_, i) => perOperation(i)) ? [{ id: 'cost', title: 'Per operation', hint: several ? 'in the benchmark where its share is largest' : '', width: 220, numeric: true, optional: 1, text: perOperation, cell: perOperation }] : []),
    { id: 'self', title: 'Self', hint: 'in all runs, without callees', width: 90, numeric: true, optional: 4, cell: i => (rows[i]!.self ? amount(rows[i]!.self, r.type.unit) : '–') },
    ...(several ? [{ id: 'benchmark', title: 'Most in', width: 220, optional: 3, text: (i: number) => (of(i) ? benchmarkName(of(i)!) : ''), cell: (i: number) => of(i) && visible(benchmarkName(of(i)!)) }] : []),
  ];
  return (
    <div class="split open">
      <Table fitted label={title} rows={rows.length} columns={columns} rowKey={i => rows[i]!.function} selected={selected} onSelect={select} empty="No function has a share." />
      {x && (
        <aside class="panel" aria-label="Function">
          <About key={x.function} r={r} x={x} score={score(x.score)} />
        </aside>
      )}
    </div>
  );
}

const sections: Record<string, string> = { own: 'your own code', library: 'standard library or dependency', runtime: 'runtime: collector, compiler, scheduler, kernel' };

/** One function: where it is called, its values in the runs, and the ways on. */
function About({ r, x, score }: { r: Ranking; x: BottleneckRow; score: string }) {
  const expanded = r.expanded?.expansions.find(e => e.function === x.function);
  const at = { ...carried(), function: x.function, type: r.type.name };
  return (
    <div class="evidence">
      <h2>
        <Fn name={x.function} />
      </h2>
      <p class="dim">
        {[score, x.section && sections[x.section], `self ${amount(x.self, r.type.unit)}, total ${amount(x.total, r.type.unit)} in ${counted(x.profiles, 'run')} of ${counted(x.benchmarks, 'benchmark')}`].filter(Boolean).join(' · ')}
      </p>
      {!source.value.offline && (
        <p class="actions">
          <a class="button" href={href('function', at)}>
            History
          </a>
          <a class="button" href={href('function', { ...at, lines: true })}>
            Show source
          </a>
        </p>
      )}
      {x.contexts && (
        <Plain
          rows={x.contexts}
          columns={[
            { title: 'Heaviest call paths', cell: c => <Path r={r} x={x} path={c.path} /> },
            { title: 'Share', numeric: true, cell: c => percent(c.share) },
          ]}
        />
      )}
      {x.plots?.map(p => <Course key={benchmarkName(p)} p={p} name={x.function} />)}
      {expanded && <Traces name={x.function} of={expanded} digits={r.expanded?.selection === 'correlation' ? 3 : 1} unit={r.type.unit} scale={r.type.scale} />}
    </div>
  );
}

/** A call path, outermost first; a click selects it in the merged profile. */
function Path({ r, x, path }: { r: Ranking; x: BottleneckRow; path: readonly string[] }) {
  const text = visible(path.map(shortName).join(' → '));
  const of = x.benchmarks === 1 && x.plots?.[0] ? { group: x.plots[0].group, benchmark: x.plots[0].benchmark } : {};
  const title = visible(path.join('\n'));
  return (
    <span class="name" title={title}>
      {source.value.offline ? text : <a href={href('profile', { ...carried(), ...of, type: r.type.name, sel: formatNames(path) })}>{text}</a>}
    </span>
  );
}

function Course({ p, name }: { p: BottleneckPlot; name: string }) {
  const title = p.x
    ? `${benchmarkName(p)}: ${p.metric} over the function's ${p.x === 'share' ? 'share' : 'samples'}, r ${p.score.toFixed(3)}`
    : `${benchmarkName(p)}: share of the program, mean ${percent(p.score)}${p.cost ? `, ${metric(p.cost!, p.costUnit!)}` : ''}`;
  return (
    <figure>
      <figcaption>{visible(title)}</figcaption>
      {p.x ? (
        <Scatter
          label={visible(`${name} in ${title}`)}
          points={p.points.map(q => ({ x: q.x, y: q.y, name: visible(q.run) }))}
          slope={p.slope}
          intercept={p.intercept}
          formatX={v => amount(v, p.x!)}
          formatY={v => metric(v, p.y)}
        />
      ) : (
        <Plot label={visible(`${name} in ${title}`)} lines={[{ name: 'share', values: p.points.map(q => q.y) }]} {...axisOf(p.points)} height={160} format={percent} />
      )}
    </figure>
  );
}
