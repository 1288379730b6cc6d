// All benchmarks: their groups as a tree, and of each its metric, its newest value and its state.
// A row is a benchmark, or one of a run: value types are a choice in the graph.
import { useMemo } from 'preact/hooks';
import type { BenchmarkOverview, Overview } from '../core/answers';
import { count, counted, instant, visible } from '../core/format';
import { benchmarkName, keyOf, metric } from '../core/metric';
import { carried } from '../core/scope';
import { goTo, href, place } from '../core/url';
import { Commit } from '../ui/Commit';
import { Named } from '../ui/Fn';
import { Await, useAnswer } from '../ui/Load';
import { ofBranch, status, tone } from '../ui/Outcome';
import { Page } from '../ui/Page';
import { Pickers } from '../ui/Pickers';
import { type InScope, Scoped } from '../ui/Scoped';
import { Spark } from '../ui/Spark';
import { type Column, sortBy, Table, useSort } from '../ui/Table';
import { Hottest } from './Bottlenecks';
import '../pages.css';
import './benchmarks.css';

export default function Benchmarks() {
  return (
    <Scoped title="Benchmarks" names={['branch', 'machine', 'run', 'commit', 'since', 'until']}>
      {known => <Listed {...known} />}
    </Scoped>
  );
}

/** So few benchmarks leave room for the functions that take their time. */
const few = 16;

/** Whether a benchmark is of a group, or of one below it. */
const isIn = (b: { group: string }, group: string): boolean => b.group === group || b.group.startsWith(`${group}/`);

/** The groups of benchmarks, with those above them, in order. */
export function groupsOf(list: readonly BenchmarkOverview[]): { group: string; name: string; depth: number; benchmarks: number }[] {
  const found = new Map<string, number>();
  for (const { group } of list) {
    const parts = group.split('/');
    parts.forEach((_, i) => {
      const at = parts.slice(0, i + 1).join('/');
      found.set(at, (found.get(at) ?? 0) + 1);
    });
  }
  const order = (a: string, b: string) => (a.split('/').join('\0') < b.split('/').join('\0') ? -1 : 1);
  return [...found].filter(([group]) => group !== '').sort(([a], [b]) => order(a, b)).map(([group, benchmarks]) => ({ group, name: group.split('/').at(-1)!, depth: group.split('/').length - 1, benchmarks }));
}

/** What the states of a branch are compared with: ", compared with main"; empty: its own history. */
const base = (list: readonly BenchmarkOverview[] = []): string => {
  const name = list.find(b => b.outcome && ofBranch(b.outcome))?.outcome!.baseBranch;
  return name ? `, compared with ${visible(name)}` : '';
};

function Listed({ scope, params }: InScope) {
  const known = useAnswer<Overview>('overview', new URLSearchParams([...params, ['quick', 'true']]));
  const judged = useAnswer<Overview>('overview', params); // comes later, with the states
  const group = place.value.params.get('group') ?? '';
  const run = params.get('run');
  return (
    <Page
      title={run ? `Benchmarks of ${visible(run)}` : 'Benchmarks'}
      sub={known.value && `${counted(known.value.benchmarks.length, 'benchmark')}, ${counted(known.value.runs, 'run')}${base(judged.value?.benchmarks)}`}
      actions={
        <>
          <Pickers scope={scope} show={['branch', 'machine']} />
          {known.value?.benchmarks.length !== 0 && (
            <a class="button" href={href('bottlenecks', { ...carried(), group })} title="functions by their share of the time">
              Where the time goes
            </a>
          )}
        </>
      }
    >
      <Await of={known} what="benchmarks">
        {o => {
          const groups = groupsOf(o.benchmarks);
          const list = group ? o.benchmarks.filter(b => isIn(b, group)) : o.benchmarks;
          const of = new URLSearchParams(params);
          for (const g of groups) if (group && isIn(g, group)) of.append('group', g.group);
          return (
            <div class="benchmarks">
              {groups.length > 1 && <Groups groups={groups} all={o.benchmarks.length} now={group} />}
              <div class="findings">
                <Rows list={list} judged={judged.value?.benchmarks} run={run} />
                {list.length > 0 && list.length <= few && <Hottest key={String(of)} params={of} />}
              </div>
            </div>
          );
        }}
      </Await>
    </Page>
  );
}

function Groups({ groups, all, now }: { groups: ReturnType<typeof groupsOf>; all: number; now: string }) {
  const link = (group: string, name: string, depth: number, n: number) => (
    <a key={group} href={href('benchmarks', { ...carried(), group })} aria-current={group === now ? 'true' : undefined} style={{ paddingLeft: `${8 + 14 * depth}px` }}>
      {visible(name)} <span class="dim">{count(n)}</span>
    </a>
  );
  return (
    <nav class="groups" aria-label="Groups">
      {link('', 'All', 0, all)}
      {groups.map(g => link(g.group, g.name, g.depth, g.benchmarks))}
    </nav>
  );
}

const keys: Record<string, (b: BenchmarkOverview) => string | number> = {
  name: b => `${b.group}/${b.benchmark}`,
  state: b => b.outcome?.status ?? '',
  date: b => b.last.date ?? '',
  runs: b => b.runs,
};

function Rows({ list, judged, run }: { list: readonly BenchmarkOverview[]; judged: readonly BenchmarkOverview[] | undefined; run: string | null }) {
  const { sort, onSort } = useSort('name', ['name', 'state']);
  const rows = useMemo(() => {
    const states = new Map(judged?.map(b => [keyOf(b), b.outcome]));
    const all = list.map((b): BenchmarkOverview => ({ ...b, ...(states.get(keyOf(b)) && { outcome: states.get(keyOf(b))! }) }));
    return sortBy(all, keys[sort.id]!, sort.descending);
  }, [list, judged, sort]);
  const at = (i: number): string => {
    const { group, benchmark } = rows[i]!;
    return run === null ? href('benchmark', { ...carried(), group, benchmark }) : href('profile', { group, benchmark, run });
  };
  const state = (i: number): string => (rows[i]!.outcome ? status(rows[i]!.outcome!) : judged ? '–' : '…');
  const columns: Column[] = [
    {
      id: 'name',
      title: 'Benchmark',
      sortable: true,
      text: i => benchmarkName(rows[i]!),
      cell: i => (
        <a href={at(i)}>
          <Named of={rows[i]!} />
        </a>
      ),
    },
    { id: 'spark', title: 'Metric', width: 130, optional: 3, cell: i => rows[i]!.metric && <Spark values={rows[i]!.metric!.values} label={`${rows[i]!.metric!.name} of the last ${rows[i]!.metric!.values.length} runs`} /> },
    { id: 'value', title: 'Newest value', width: 120, numeric: true, cell: i => rows[i]!.metric && metric(rows[i]!.metric!.last, rows[i]!.metric!.unit) },
    { id: 'state', title: 'State', text: state, sortable: true, optional: 1, class: i => tone(rows[i]!.outcome), cell: i => <span title={state(i)}>{state(i)}</span> },
    { id: 'run', title: 'Newest run', width: 260, optional: 5, text: i => rows[i]!.last.run, cell: i => visible(rows[i]!.last.run) },
    { id: 'date', title: 'Date (UTC)', width: 140, sortable: true, optional: 2, cell: i => instant(rows[i]!.last.date) },
    { id: 'commit', title: 'Commit', width: 110, optional: 4, cell: i => <Commit of={rows[i]!.last} /> },
    { id: 'runs', title: 'Runs', width: 70, numeric: true, sortable: true, optional: 6, cell: i => count(rows[i]!.runs) },
  ];
  return (
    <Table
      fitted
      label="benchmarks"
      rows={rows.length}
      columns={columns.filter(c => (!['spark', 'value'].includes(c.id) || rows.some(b => b.metric)) && (c.id !== 'commit' || rows.some(b => b.last.commit)))}
      rowKey={i => keys['name']!(rows[i]!)}
      sort={sort}
      onSort={onSort}
      onOpen={i => goTo(at(i))}
      empty="The selection has no benchmarks. Import some: dendro import FILE"
    />
  );
}
