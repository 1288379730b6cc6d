// Functions by how much they could save, or by how closely they follow the time, each with
// its call paths and its values in all runs.
import type { BottleneckPlot, BottleneckRow, Bottlenecks as Ranking } from '../core/answers';
import { amount, counted, percent, visible } from '../core/format';
import { benchmarkName, metric, shortName } from '../core/metric';
import { notesOf } from '../core/request';
import { carried } from '../core/scope';
import { formatNames } from '../core/selection';
import { source } from '../core/source';
import { href, place } from '../core/url';
import { axisOf, Band } from '../ui/Band';
import { Traces } from '../ui/Evidence';
import { Crumbs } from '../ui/Crumbs';
import { Fn } from '../ui/Fn';
import { Await } from '../ui/Load';
import { Page } from '../ui/Page';
import { Pickers } from '../ui/Pickers';
import { Scatter } from '../ui/Scatter';
import { By, type InScope, Scoped } from '../ui/Scoped';
import { preferred, useTyped } from '../ui/Typed';
import '../pages.css';

const kinds: Record<string, string> = { self: 'The function itself', subtree: 'With its callees', correlation: 'Correlation with time' };
const page = { rows: '12', contexts: '3', plots: '4', sections: 'true' };
const sections = { own: 'Your own code', library: 'Libraries', runtime: 'Runtime: collector, compiler, scheduler, kernel' } as const;
const fewest = '8'; // runs of a correlation: with a few, chance puts functions on top

export default function Bottlenecks() {
  return (
    <Scoped title="Bottlenecks" names={[...place.value.params.keys(), 'branch']}>
      {known => <Ranked {...known} />}
    </Scoped>
  );
}

function Ranked({ scope, params }: InScope) {
  const by = params.get('by') ?? 'self';
  const asked = new URLSearchParams({ ...page, ...(by === 'correlation' && { 'least-occurrences': fewest }), ...Object.fromEntries(params) });
  for (const name of params.keys()) {
    asked.delete(name);
    for (const v of params.getAll(name)) asked.append(name, v);
  }
  if (!asked.has('type') && scope.choices.types.length > 1) asked.set('type', preferred(scope.choices.types));
  const answer = useTyped<Ranking>('bottlenecks', asked);
  const { offline } = source.value;
  const selected = [...params].filter(([k, v]) => k !== 'by' && v).map(([k, v]) => `${k} ${v}`);
  return (
    <Page
      title="Bottlenecks"
      crumbs={<Crumbs of={params} />}
      sub={
        answer.value &&
        visible([`${counted(answer.value.profiles, 'profile')} of ${counted(answer.value.benchmarks, 'benchmark')}`, ...selected].join(' · '))
      }
      actions={
        !offline && (
          <>
            <Pickers scope={scope} show={['branch', 'group', 'type', 'machine', 'since']} type={answer.value?.type.name ?? answer.type} />
            <By kinds={kinds} now={by} />
            <a class="button" href={source.value.file('page/bottlenecks', { ...Object.fromEntries(asked), type: answer.type })} download="bottlenecks.html">
              Report as a file
            </a>
          </>
        )
      }
    >
      <Await of={answer} what="bottlenecks">
        {r => {
          const rows = r.rows.filter(x => x.score !== 0);
          return (
            <>
              <p class="dim">{`Score: ${r.measure}.`}</p>
              {notesOf([...r.warnings, ...(r.expanded?.warnings ?? [])]).map(w => (
                <p key={w} class="dim">
                  {visible(w)}
                </p>
              ))}
              {rows.length === 0 && !r.negative && <div class="empty">No function has a score.</div>}
              {rows.some(x => x.section)
                ? (['own', 'library', 'runtime'] as const).map(name => {
                    const list = rows.filter(x => x.section === name);
                    return (
                      list.length > 0 && (
                        <section key={name} class="findings">
                          <h2>{sections[name]}</h2>
                          <Rows r={r} rows={list} open={name === 'own' ? 3 : 0} />
                        </section>
                      )
                    );
                  })
                : rows.length > 0 && <Rows r={r} rows={rows} open={3} />}
              {r.negative && (
                <>
                  <h2>Decrease when the time increases</h2>
                  <Rows r={r} rows={r.negative} open={3} />
                </>
              )}
            </>
          );
        }}
      </Await>
    </Page>
  );
}

function Rows({ r, rows, open }: { r: Ranking; rows: readonly BottleneckRow[]; open: number }) {
  const contexts = new Map(r.expanded?.expansions.map(e => [e.function, e]));
  const score = (v: number) => (r.rank === 'correlation' ? `r ${v.toFixed(3)}` : percent(v));
  return (
    <section class="findings">
      {rows.map((x, i) => (
        <details key={x.function} class="card" open={i < open}>
          <summary>
            <span class="what">
              <Fn name={x.function} />
            </span>
            <span class="cost">{score(x.score)}</span>
            <span class="where">{`self ${amount(x.self, r.type.unit)}, total ${amount(x.total, r.type.unit)} in ${counted(x.profiles, 'profile')} of ${counted(x.benchmarks, 'benchmark')}`}</span>
          </summary>
          <div class="evidence">
            <div class="plots">{x.plots?.map(p => <Plot key={benchmarkName(p)} p={p} name={x.function} />)}</div>
            {x.contexts && (
              <table class="plain">
                <thead>
                  <tr>
                    <th>Heaviest call paths</th>
                    <th class="num">Share</th>
                  </tr>
                </thead>
                <tbody>
                  {x.contexts.map(c => (
                    <tr key={c.path.join(';')}>
                      <td>
                        <Path r={r} x={x} path={c.path} />
                      </td>
                      <td class="num">{percent(c.share)}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
            )}
            {contexts.has(x.function) && <Traces name={x.function} of={contexts.get(x.function)!} digits={r.expanded?.selection === 'correlation' ? 3 : 1} unit={r.type.unit} scale={r.type.scale} />}
            {!source.value.offline && (
              <p class="actions">
                <a class="button" href={href('function', { ...carried(), function: x.function, type: r.type.name })}>
                  History of this function
                </a>
                <a class="button" href={href('function', { ...carried(), function: x.function, type: r.type.name, lines: true })}>
                  Show source
                </a>
              </p>
            )}
          </div>
        </details>
      ))}
    </section>
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

function Plot({ p, name }: { p: BottleneckPlot; name: string }) {
  const title = p.x
    ? `${benchmarkName(p)}: ${p.metric} over the function's ${p.x === 'share' ? 'share' : 'samples'}, r ${p.score.toFixed(3)}`
    : `${benchmarkName(p)}: share of the program, mean ${percent(p.score)}`;
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
        <Band
          label={visible(`${name} in ${title}`)}
          series={{ x: p.points.map((_, i) => i), values: p.points.map(q => q.y) }}
          {...axisOf(p.points)}
          height={160}
          format={percent}
        />
      )}
    </figure>
  );
}
