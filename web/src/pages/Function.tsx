// A function over time: its share and cost in every benchmark, its callers and callees.
import { useState } from 'preact/hooks';
import type { History, HistorySeries } from '../core/answers';
import { amount, counted, percent, visible } from '../core/format';
import { benchmarkName } from '../core/metric';
import { notesOf } from '../core/request';
import { carried } from '../core/scope';
import type { Params } from '../core/source';
import { formatPath } from '../core/transforms';
import { href, place, update } from '../core/url';
import { SelfBox } from '../ui/Box';
import { Crumbs } from '../ui/Crumbs';
import { Fn } from '../ui/Fn';
import { newest, OfFunction } from '../ui/History';
import { searchShown } from '../ui/Keys';
import { Await, useAnswer } from '../ui/Load';
import { Page } from '../ui/Page';
import { Pickers } from '../ui/Pickers';
import { type InScope, Scoped } from '../ui/Scoped';
import { Source } from '../ui/Source';
import { useTyped } from '../ui/Typed';
import { Plain } from '../ui/Plain';
import '../pages.css';

const selection = ['function', 'self', 'group', 'benchmark', 'branch', 'machine', 'type', 'since', 'until', 'window'];

export default function FunctionPage() {
  const name = place.value.params.get('function') ?? '';
  return (
    <Scoped title={visible(name)} names={selection}>
      {known => <One name={name} {...known} />}
    </Scoped>
  );
}

function One({ name, scope, params }: InScope & { name: string }) {
  const answer = useTyped<History>('history', params);
  const self = params.get('self') === 'true';
  return (
    <Page
      title={visible(name)}
      crumbs={<Crumbs of={params} />}
      sub={answer.value && `${self ? 'Self' : 'Total'} time in ${counted(answer.value.series.length, 'benchmark')}`}
      actions={
        <>
          <Pickers scope={scope} show={['branch', 'type', 'machine', 'since']} type={answer.value?.series[0]?.type ?? answer.type} />
          <a class="button" href={href('find', { ...carried(), pattern: formatPath([name]) })}>
            Share by benchmark
          </a>
          <SelfBox />
        </>
      }
    >
      <Await of={answer} what="the history">
        {h =>
          h.series.length === 0 ? (
            <div class="empty">
              {notesOf(h.notes).map(n => (
                <p key={n}>{visible(n)}</p>
              ))}
              <button type="button" onClick={() => (searchShown.value = '')}>
                Search
              </button>
            </div>
          ) : (
            <>
              {[...h.series]
                .sort((a, b) => newest(b) - newest(a))
                .map((s, i) => (
                  <OfFunction key={benchmarkName(s)} s={s} open={i < 3} />
                ))}
              <Around name={name} params={params} series={[...h.series].sort((a, b) => newest(b) - newest(a))} />
            </>
          )
        }
      </Await>
    </Page>
  );
}

interface TreeRows {
  unit: string;
  rootTotal: number;
  rows: { depth: number; function: string; total: number; self: number }[];
}

/** Callers and callees in the newest run of one benchmark: those of several have no value in common. */
function Around({ name, params, series }: { name: string; params: URLSearchParams; series: HistorySeries[] }) {
  const [chosen, choose] = useState(0);
  const s = series[chosen] ?? series[0]!;
  const lines = place.value.params.get('lines') === 'true';
  const at: Params = {
    group: s.group,
    benchmark: s.benchmark,
    branch: params.getAll('branch'),
    machine: s.runs[s.runs.length - 1]?.machine ?? [],
    type: s.type,
    last: 1,
    depth: 2,
    rows: 41,
  };
  const callers = useAnswer<TreeRows>('tree', { ...at, callers: name });
  const callees = useAnswer<TreeRows>('tree', { ...at, callees: name });
  return (
    <section class="findings">
      <div class="head">
        <h2>{series.length > 1 ? 'In the newest run of' : 'In the newest run'}</h2>
        {series.length > 1 && (
          <select aria-label="Benchmark" value={chosen} onChange={e => choose(+e.currentTarget.value)}>
            {series.map((x, i) => (
              <option key={benchmarkName(x)} value={i}>
                {visible(benchmarkName(x))}
              </option>
            ))}
          </select>
        )}
      </div>
      <div class="two">
        <Neighbours title="Callers" of={callers} none="It is where stacks begin." />
        <Neighbours title="Callees" of={callees} none="It calls no other sampled function." />
      </div>
      <details class="card" open={lines} onToggle={e => update({ lines: e.currentTarget.open ? 'true' : null })}>
        <summary>
          <span class="what">Lines</span>
        </summary>
        {lines && <Source name={name} at={{ group: s.group, benchmark: s.benchmark, branch: params.getAll('branch'), machine: s.runs[s.runs.length - 1]?.machine ?? '', type: s.type, last: 1 }} />}
      </details>
    </section>
  );
}

function Neighbours({ title, of, none }: { title: string; of: ReturnType<typeof useAnswer<TreeRows>>; none: string }) {
  return (
    <section class="card">
      <h2>{title}</h2>
      <Await of={of} what={title.toLowerCase()}>
        {t => {
          const rows = t.rows.filter(r => r.depth === 1);
          const whole = t.rows.filter(r => r.depth === 0).reduce((n, r) => n + r.total, 0);
          if (rows.length === 0) return <p class="dim">{none}</p>;
          return (
            <>
              <Plain
                rows={rows.slice(0, 20)}
                columns={[
                  {
                    title: 'Function',
                    cell: r => (
                      <a href={href('function', { ...carried(), function: r.function })}>
                        <Fn name={r.function} />
                      </a>
                    ),
                  },
                  { title: t.unit === 'count' ? 'Samples' : 'Total', numeric: true, cell: r => amount(r.total, t.unit) },
                  { title: 'Share', numeric: true, cell: r => (whole ? percent(r.total / whole) : '') },
                ]}
              />
              {rows.length > 20 && <p class="dim">{`${rows.length - 20} more`}</p>}
            </>
          );
        }}
      </Await>
    </section>
  );
}
