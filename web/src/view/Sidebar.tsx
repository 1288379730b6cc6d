// What is selected: its numbers, place, categories, callers and callees, and what can be
// done with it.
import { useMemo } from 'preact/hooks';
import { amount, counted, percent, signed, visible } from '../core/format';
import { around, type Nodes, path } from '../core/nodes';
import type { FunctionRow, Tree } from '../core/profile';
import { isPushed } from '../core/pushed';
import { linesParams } from '../core/request';
import { carried } from '../core/scope';
import { isOfFiles } from '../core/share';
import { source } from '../core/source';
import { none } from '../core/table';
import { href, place, update } from '../core/url';
import { Declared, Source } from '../ui/Source';
import { Name, Numbers, placeOf, tone, verdict } from './describe';

interface Props {
  t: Tree;
  fn: number;
  /** The selected node, in the view that is shown; none: only a function is selected. */
  nodes: Nodes;
  node: number;
  rows: FunctionRow[];
  onSelect: (fn: number) => void;
  onClose: () => void;
  actions: { label: string; key: string; run: () => void; title: string }[];
}

/** Whether functions of what is shown have lines and a history: not in a report, and the dumps of a task have names only. */
export const inStore = (): boolean => !source.value.offline && !place.value.params.has('task');

/** The page of a function over time, of the runs or the service that is shown; empty: a file has one time only. */
export function historyOf(name: string): string {
  const { params } = place.value;
  if (!inStore() || isOfFiles(params)) return '';
  if (isPushed(params)) return params.has('service') ? href('services', { service: params.get('service'), type: params.get('type'), function: name }) : '';
  return href('function', { ...carried(), function: name });
}

/** The tabs of the details, as the address has them. */
const tabs = [
  [null, 'Callers, callees'],
  ['source', 'Source'],
] as const;

export function Sidebar({ t, fn, nodes, node, rows, onSelect, onClose, actions }: Props) {
  const f = t.table.functions[fn];
  const row = rows.find(r => r.fn === fn);
  const sides = t.self.map((_, s) => s);
  const near = useMemo(() => around(t, fn), [t, fn]);
  const categories = useMemo(() => categoriesBelow(t, nodes, node), [t, nodes, node]);
  if (!f) return null;
  const list = (title: string, items: { fn: number; total: number[] }[]) =>
    items.length > 0 && (
      <section>
        <h3>{title}</h3>
        <ul>
          {items.map(c => (
            <li key={c.fn}>
              <button type="button" onClick={() => onSelect(c.fn)}>
                <Name f={t.table.functions[c.fn]!} />
              </button>
              <span class={t.isDiff ? tone(t.change(c.total[0]!, c.total[1]!)) : 'dim'}>
                {t.isDiff
                  ? signed(c.total[1]! - c.total[0]!, x => amount(x, t.unit))
                  : percent(row?.total[0] ? c.total[0]! / row.total[0] : 0)}
              </span>
            </li>
          ))}
        </ul>
      </section>
    );
  const state = t.isDiff && row ? verdict(t, row.total[0]!, row.total[1]!, row.outside) : '';
  const { params } = place.value;
  const tab = inStore() ? params.get('tab') : null;
  const history = historyOf(f.name);
  return (
    <aside aria-label="Selection" class={`sidebar${tab ? ' of-lines' : ''}`}>
      <button type="button" class="close" aria-label="Close details" title="close (s)" onClick={onClose}>
        ×
      </button>
      <h2>
        <Name f={f} short={false} />
      </h2>
      <p class="dim where">{placeOf(f)}</p>
      {f.kind && <p class="dim">{[f.kind, f.language].filter(Boolean).join(' · ')}</p>}
      {f.baseName && <p>renamed: it was {visible(f.baseName)} in the base</p>}
      {state && <p class={state === 'within noise' ? 'dim' : state === 'slower' || state === 'new' ? 'more' : 'less'}>{state}</p>}
      {inStore() && (
        <nav class="tabs" aria-label="Details">
          {tabs.map(([name, label]) => (
            <button key={label} type="button" aria-pressed={tab === name} onClick={() => update({ tab: name })}>
              {label}
            </button>
          ))}
        </nav>
      )}
      {tab === 'source' && (
        <Source name={f.name} at={linesParams(params, t.isDiff)}>
          {isPushed(params) && <Declared f={f} self={row?.self.at(-1) ?? 0} total={row?.total.at(-1) ?? 0} unit={t.unit} />}
        </Source>
      )}
      {tab === 'source' ? null : (
      <>
      {row && (
        <section>
          <h3>Function</h3>
          <Numbers t={t} self={row.self} total={row.total} outside={row.outside} />
        </section>
      )}
      {node !== none && (
        <section>
          <h3>This call path</h3>
          <Numbers t={t} self={sides.map(s => nodes.self(node, s))} total={sides.map(s => nodes.total(node, s))} outside={nodes.outside(node)} />
          <details>
            <summary>{counted(nodes.depth(node) + 1, 'frame')}</summary>
            <ol class="path">
              {path(nodes, node).map((p, i) => (
                <li key={i}>
                  <Name f={t.table.functions[p]!} />
                </li>
              ))}
            </ol>
          </details>
        </section>
      )}
      {categories.length > 1 && (
        <section>
          <h3>Categories</h3>
          <ul>
            {categories.map(c => (
              <li key={c.name}>
                <span>{visible(c.name || 'none')}</span>
                <span class="dim">{percent(c.share)}</span>
              </li>
            ))}
          </ul>
        </section>
      )}
      {list(t.isDiff ? 'Callers, by change' : 'Callers', near.callers.slice(0, 6))}
      {list(t.isDiff ? 'Callees, by change' : 'Callees', near.callees.slice(0, 6))}
      {history && (
        <p>
          <a href={history}>History of this function</a>
        </p>
      )}
      <section class="acts">
        {actions.map(a => (
          <button key={a.key} type="button" title={a.title} onClick={a.run}>
            {a.label} <kbd>{a.key}</kbd>
          </button>
        ))}
      </section>
      </>
      )}
    </aside>
  );
}

/** The self values below a node by category, of the head side. */
function categoriesBelow(t: Tree, nodes: Nodes, node: number): { name: string; share: number }[] {
  const { category, categories, end } = t.table;
  if (!category || nodes.inverted || node === none || node >= t.table.n) return [];
  const self = t.self[t.sides - 1]!;
  const sums = categories.map(() => 0);
  let all = 0;
  for (let n = node; n < end[node]!; n++) {
    const v = Math.abs(self[n]!);
    sums[category[n]!]! += v;
    all += v;
  }
  return categories
    .map((c, i) => ({ name: c.name, share: all ? sums[i]! / all : 0 }))
    .filter(c => c.share > 0)
    .sort((a, b) => b.share - a.share);
}
