// The difference of two selections of profiles.
import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import { amount, commit, count, counted, counting, rangeTitle, relative, visible } from '../core/format';
import { type Loaded, loaded, type Wire } from '../core/profile';
import { isPushed } from '../core/pushed';
import { dataParams, notesOf, selectionParams, serverTransforms } from '../core/request';
import { everyBranch, selection } from '../core/scope';
import { dark, paper } from '../core/settings';
import { source } from '../core/source';
import { format, place, replaceWith, update } from '../core/url';
import { diffColour } from '../flame/palette';
import { nameOf } from '../ui/Bar';
import { Await, useAnswer, Waiting } from '../ui/Load';
import { Crumbs, namedByCrumbs } from '../ui/Crumbs';
import type { Group } from '../ui/Menu';
import { Page, useTitle } from '../ui/Page';
import { Pickers, useScope } from '../ui/Pickers';
import { Chart } from '../view/Chart';
import { tone } from '../view/describe';
import { downloads } from '../view/formats';
import { typeMenu, useChosenType, useTyped } from '../ui/Typed';
import { useRunKeys } from '../view/step';
import { Workspace } from '../view/Workspace';
import { benchmarksText, type Run, runsText } from './Profile';

/** What values are divided by, in words. */
const by: Record<string, string> = { operation: 'per operation', profile: 'per profile', share: 'share of each side', value: 'as measured', second: 'per second' };

const sideNames = ['base', 'head'] as const;

export default function Diff() {
  const { params } = place.value;
  const scope = useScope(['group', 'benchmark']);
  const named = params.getAll('benchmark').length === 1 && sides(params) > 0;
  if (source.value.offline || oneTree(params) || (named && (params.getAll('group').length === 1 || (scope.params && scope.choices.groups.length < 2)))) return <Selected params={params} />;
  return named && !scope.params ? <Waiting /> : <Moved params={params} />;
}

/** The number of sides of which an address says something; the newest runs are both. */
const sides = (params: URLSearchParams): number => (params.has('last') ? 2 : sideNames.filter(side => [...params.keys()].some(n => n === side || n.startsWith(`${side}-`))).length);

/** Reports whether the address means one tree for each side, of no one benchmark. */
const oneTree = (params: URLSearchParams): boolean =>
  params.has('merged') || params.has('against') || isPushed(params) || (sides(params) === 2 && sideNames.some(side => params.has(`${side}-file`)));

/** Of several benchmarks, or without sides, it is the first page that compares. */
function Moved({ params }: { params: URLSearchParams }) {
  useEffect(() => {
    const to = new URLSearchParams([...params].filter(([name]) => selection.includes(name) || name.endsWith('-file')));
    for (const side of sideNames) if (nameOf(params, side)) to.set(side, nameOf(params, side));
    replaceWith(format({ page: 'home', params: to }));
  }, []);
  return <Waiting />;
}

function Selected({ params }: { params: URLSearchParams }) {
  const query = dataParams(params);
  const asked = query.toString();
  query.set('form', 'compact');
  const answer = useTyped<Loaded<DiffWire>>('diff', query, async (p, o) => loaded(await source.value.get<DiffWire>('diff', p, o), o.signal));
  useChosenType(params, answer.type);
  useRunKeys(params);
  const scope = useScope(['group', 'benchmark']);
  const pickers = newest(params) && <Pickers scope={scope} show={['branch', 'machine', 'since']} branch={everyBranch} />;
  const page = (failure: ComponentChildren) => (
    <Page title={`Diff of ${benchmarksText(params) || 'profiles'}`} crumbs={<Crumbs of={params} />} actions={pickers}>
      {failure}
    </Page>
  );
  return (
    <Await of={answer} what="the diff" page={page}>
      {wire => <Shown key={asked} of={wire} params={params} pickers={pickers} />}
    </Await>
  );
}

/** A diff of two sides or, against the history, of a run and the average of the runs before. */
interface DiffWire extends Wire {
  rootTotal?: { base: number; head: number };
  runs?: string[];
  commits?: string[];
  history?: number;
  historyFrom?: string;
  historyTo?: string;
  significant?: number;
}

function Shown({ of: wire, params, pickers }: { of: Loaded<DiffWire>; params: URLSearchParams; pickers: ComponentChildren }) {
  const { tree, history, significant = 0, rootTotal } = wire;
  const given = useSides(params, wire.notes ?? [], history !== undefined);
  const sides = history === undefined ? given : bandSides(wire);
  const what = benchmarksText(params);
  const name = `${what ? `${what}: ` : ''}${sides[0]} → ${sides[1]}`;
  useTitle(name);
  const { base, head } = rootTotal ?? { base: tree.root[0]!, head: tree.root[1]! };
  const profiles = wire.profiles as { base: number; head: number } | undefined;
  const change = tree.change(base, head);
  const runs = useAnswer<{ rows: Run[] }>('runs', selectionParams(params));
  const types = [...new Set((runs.value?.rows ?? []).flatMap(r => r.types ?? []))].sort();
  return (
    <div class="profile">
      <div class="head bar">
        <Crumbs of={params} />
        <h1>
          {what && !namedByCrumbs(params) && <span class="dim">{what} </span>}
          <span class="sidemark" data-side="base">base</span> {sides[0]} <span class="dim">→</span> <span class="sidemark" data-side="head">head</span> {sides[1]}
        </h1>
        <span class="sub">
          {amount(base, wire.unit)} → {amount(head, wire.unit)} {wire.unit === 'count' && 'samples '}{profiles && (by[wire.by ?? ''] ?? `per ${wire.by}`)}
          {profiles && (
            <>
              , <b class={tone(change)}>{relative(base, head, tree.noise(base, head)) || 'no change'}</b>
              {change === 0 && base !== head && ' (within noise)'}
            </>
          )}{' '}
          · {counting(wire.type, wire.unit)}
          {profiles
            ? ` of ${count(profiles.base)} → ${counted(profiles.head, 'profile')}`
            : `; scaled so that most functions are unchanged; ${counted(significant, 'call path')} outside of the band`}
        </span>
        {pickers}
        {notesOf(wire.notes)
          .filter(n => !n.startsWith('base: '))
          .map(n => (
            <span key={n} class="sub">
              {n.replace(/^compared per operation[:,] /, '') /* which stands beside the amounts */}
            </span>
          ))}
      </div>
      <Workspace
        tree={tree}
        skip={serverTransforms(params)}
        title={name}
        {...(profiles && source.value.hasChart('diff') && !isPushed(params) ? { chart: () => <Chart path="diff" params={params} /> } : {})}
        downloads={downloads('diff', params)}
        legend={<Legend history={history} />}
        menus={source.value.offline ? [] : [...(params.has('base-type') ? [] : typeMenu(types, wire.type)), ...againstMenu(params, history), ...(profiles ? byMenu(wire.by ?? '') : [])]}
      />
    </div>
  );
}

/** With what the newest run is compared. */
function againstMenu(params: URLSearchParams, history: number | undefined): Group[] {
  if (!newest(params)) return [];
  return [
    {
      label: history === undefined ? 'runs before' : 'average before',
      title: 'compare with',
      items: [
        { label: 'all runs before', checked: history === undefined, run: () => update({ against: null, last: params.get('last') ?? '1' }, true) },
        {
          label: 'average of the history',
          hint: 'colour: outside of the band of the runs before',
          checked: history !== undefined,
          run: () => update({ against: 'history', by: null }, true),
        },
      ],
    },
  ];
}

const byMenu = (now: string): Group[] => [
  {
    label: by[now] ?? `per ${now}`,
    title: 'compare by',
    items: Object.entries(by).map(([k, label]) => ({ label, checked: k === now, run: () => update({ by: k === 'operation' ? null : k }, true) })),
  },
];

/** Names the average, by the runs in it, and what is compared with it. */
export function bandSides(w: Omit<DiffWire, 'columns'>): [string, string] {
  const { runs = [], commits = [], history = 0, historyFrom = '', historyTo = '' } = w;
  const between = historyFrom && visible(history > 1 ? `${historyFrom} … ${historyTo}` : historyFrom);
  return [
    [`average of ${counted(history, 'run')}`, between].filter(Boolean).join(', '),
    [...runs.map(visible), ...commits.map(commit)].join(', '),
  ];
}

/** Reports whether the newest run is compared, so that the address does not name the sides. */
const newest = (params: URLSearchParams): boolean =>
  params.getAll('benchmark').length === 1 && ['last', 'against'].some(n => params.has(n)) && !['base-run', 'head-run'].some(n => params.has(n));

/** The colours in words. Against the average of runs the colours are gated by their band. */
function Legend({ history }: { history: number | undefined }) {
  const steps = Array.from({ length: 11 }, (_, i) => diffColour((i - 5) / 5, dark.value));
  const than = history === undefined ? 'base' : 'the average';
  const half = '50% 100% no-repeat';
  const background = paper.value
    ? `repeating-linear-gradient(135deg, ${steps[0]} 0 1px, #fff 1px 4px) left / ${half}, linear-gradient(to right, #fff, ${steps[10]}) right / ${half}`
    : `linear-gradient(to right, ${steps.join(',')})`;
  return (
    <p class="legend">
      <span class="less">
        faster<span class="roomy">: less time than {than}</span>
      </span>
      <i style={{ background }} />
      <span class="more">
        slower<span class="roomy">: more time than {than}</span>
      </span>
      <span>
        <i class="same" /> unchanged or within {history === undefined ? 'sampling noise' : `the band of the ${history} runs`}
      </span>
      <span class="dim">a box is as wide as the larger side; full colour: only on one side</span>
    </p>
  );
}

/** Names both sides by their runs and commits. */
function useSides(params: URLSearchParams, notes: readonly string[], named: boolean): [string, string] {
  const said = /^base: (.+?); head: (.+)$/.exec(notes.find(n => n.startsWith('base: ')) ?? '');
  const known = named || said !== null || source.value.offline || isPushed(params);
  const ask = (side: (typeof sideNames)[number]) => !known && !params.has(`${side}-file`);
  const base = useAnswer<{ rows: Run[] }>('runs', ask('base') ? selectionParams(params, 'base') : null);
  const head = useAnswer<{ rows: Run[] }>('runs', ask('head') ? selectionParams(params, 'head') : null);
  if (said) return [said[1]!, said[2]!].map(s => s.replace(/^(.+) \(run \1\)$/, '$1').replace(/^run (?=run)/, '')) as [string, string];
  const text = (a: typeof base, side: (typeof sideNames)[number]) => {
    const range = params.get(`${side}-range`);
    const what = (a.value && ask(side) ? runsText(a.value.rows) : given(params, side)) || side;
    return [visible(params.get(`${side}-type`) ?? ''), what, range && rangeTitle(range)].filter(Boolean).join(', ');
  };
  return [text(base, 'base'), text(head, 'head')];
}

/** Names a side by what the address says of it. */
function given(params: URLSearchParams, side: string): string {
  const list = ['run', 'commit', 'branch', 'file', 'labels'].flatMap(n => params.getAll(`${side}-${n}`)).map(visible);
  const dates = ['since', 'until'].map(n => params.get(`${side}-${n}`) ?? '');
  if (dates.some(Boolean)) list.push(dates.join(' … '));
  return list.length > 3 ? `${list.length} runs, ${list[0]} … ${list[list.length - 1]}` : list.join(', ');
}
