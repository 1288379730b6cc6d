// A profile, or the sum of a selection of profiles.
import type { Activity } from '../core/answers';
import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import { amount, commit, counted, counting, instant, visible } from '../core/format';
import { type Loaded, loaded, type Wire } from '../core/profile';
import { isPushed } from '../core/pushed';
import { dataParams, notesOf, selectionParams, serverTransforms } from '../core/request';
import { everyBranch } from '../core/scope';
import { Embedded, source } from '../core/source';
import { type Changes, format, go, href, place, replaceWith, withChanges } from '../core/url';
import { Crumbs, namedByCrumbs } from '../ui/Crumbs';
import type { Item } from '../ui/Menu';
import { Await, useAnswer, Waiting } from '../ui/Load';
import { Pickers, useScope } from '../ui/Pickers';
import { Page, useTitle } from '../ui/Page';
import { OfFile, shown, Upload, useDrop } from '../ui/Upload';
import { typeMenu, useChosenType, useTyped } from '../ui/Typed';
import { labelMenu, useActivity, useTracks } from '../view/activity';
import { Chart } from '../view/Chart';
import { downloads } from '../view/formats';
import { useRunKeys } from '../view/step';
import { Workspace } from '../view/Workspace';

export interface Run {
  run: string;
  date?: string;
  commit?: string;
  branch?: string;
  repository?: string;
  types?: string[];
}

/** Names runs: "run-018, 579d7113d2, 2026-11-21 12:24", or how many there are. */
export function runsText(runs: readonly Run[]): string {
  const last = runs[runs.length - 1];
  if (!last) return 'no runs';
  if (runs.length > 1) return `${counted(runs.length, 'run')}, ${visible(runs[0]!.run)} … ${visible(last.run)}`;
  return [visible(last.run), last.commit && commit(last.commit), instant(last.date)].filter(Boolean).join(', ');
}

export const benchmarksText = (p: URLSearchParams): string => visible([...p.getAll('group'), ...p.getAll('benchmark'), ...p.getAll('service')].join(' / '));

/** Compares CPU time with wall time, where both were measured: the difference is what waits. */
function waits(params: URLSearchParams, types: readonly string[]): Item[] {
  const [cpu, wall] = [['cpu', 'wall'], ['cpu-samples', 'wall-samples']].find(pair => pair.every(t => types.includes(t))) ?? [];
  if (!cpu || !wall || params.has('file') || isPushed(params)) return [];
  const to: Changes = { 'base-type': cpu, 'head-type': wall };
  const selection = selectionParams(params);
  for (const name of selection.keys()) to[name] = selection.getAll(name);
  return [{ label: `${cpu} against ${wall}`, hint: 'what waits', run: () => go('diff', to) }];
}

export default function Profile() {
  const { params } = place.value;
  return source.value.offline || (!params.has('list') && [...selectionParams(params).keys()].length > 0) ? <Selected params={params} /> : <Moved params={params} />;
}

function Selected({ params }: { params: URLSearchParams }) {
  const query = dataParams(params);
  const asked = query.toString();
  const answer = useTyped<Loaded>('tree', withForm(query), async (p, o) => loaded(await source.value.get<Wire>('tree', p, o), o.signal));
  useChosenType(params, answer.type);
  // Of the whole profile: it stays while another part of it is loaded.
  const stored = useActivity(params, answer.value?.type ?? '', answer.value?.profiles === 1 && !isPushed(params));
  const runs = useAnswer<{ rows: Run[] }>('runs', selectionParams(params));
  const known = runs.value?.rows ?? [];
  const name =
    [benchmarksText(params), known.length > 0 ? runsText(known) : visible(params.get('run') ?? params.get('profile') ?? '')]
      .filter(Boolean)
      .join(', ') ||
    visible(params.get('file') ?? '') ||
    visible(params.get('labels') ?? '') ||
    (source.value instanceof Embedded && source.value.data.title) ||
    'Profile';
  useTitle(name);
  const step = useRunKeys(params);
  useDrop(shown, params.has('file') && !source.value.offline && !answer.error); // another file, also while this one is read
  const heading = (namedByCrumbs(params) && known.length > 0 && runsText(known)) || name;
  const page = (failure: ComponentChildren) => (
    <Page title={heading} crumbs={<Crumbs of={params} />} actions={!source.value.offline && <Upload done={() => {}} branch="" />}>
      {failure}
    </Page>
  );
  return (
    <Await of={answer} what="the call tree" page={page}>
      {of => <Shown key={asked} of={of} name={name} heading={heading} runs={known} params={params} activity={of.activity ?? stored} step={step} />}
    </Await>
  );
}

function Shown({ of, name, heading, runs, params, activity, step }: { of: Loaded; name: string; heading: string; runs: Run[]; params: URLSearchParams; activity: Activity | undefined; step: ReturnType<typeof useRunKeys> }) {
  const { tree, type } = of;
  const types = of.types ?? [...new Set(runs.flatMap(r => r.types ?? []))].sort();
  const scope = useScope(['group', 'benchmark']);
  const notes = notesOf(of.notes);
  const timed = !!activity && activity.rows.length > 0 && activity.to > activity.from;
  const parts = useTracks(timed || !!activity?.markers);
  const count = typeof of.profiles === 'number' ? of.profiles : 0;
  return (
    <div class="profile">
      <div class="head bar">
        <Crumbs of={params} />
        <h1>{heading}</h1>
        <span class="sub">
          {amount(tree.root[0]!, tree.unit)}
          {tree.unit === 'count' && ' samples'} {type !== 'samples' && `of ${counting(type, tree.unit)} `}in {counted(count, 'profile')}
        </span>
        {notes.length > 0 && <span class="sub">{notes.join(' · ')}</span>}
        {step && (
          <span class="roomy">
            <button type="button" title="the run before ([)" aria-label="The run before" onClick={() => void step(-1)}>
              ‹
            </button>{' '}
            <button type="button" title="the run after (])" aria-label="The run after" onClick={() => void step(1)}>
              ›
            </button>{' '}
            {runs.length === 1 && (
              <a class="button" href={href('home', { group: params.get('group'), benchmark: params.get('benchmark'), head: runs[0]!.run })} title="with a branch, a commit or another run">
                Compare with…
              </a>
            )}
          </span>
        )}
        {params.has('file') && !source.value.offline && <OfFile name={params.get('file')!} />}
        {(count !== 1 || ['branch', 'machine', 'since'].some(n => params.has(n))) && !['run', 'profile', 'commit', 'file', 'last', 'service', 'labels'].some(n => params.has(n)) && <Pickers scope={scope} show={['branch', 'machine', 'since']} branch={everyBranch} />}
      </div>
      <Workspace
        tree={tree}
        skip={serverTransforms(params)}
        title={name}
        {...(source.value.hasChart('tree') && !isPushed(params) ? { chart: () => <Chart path="tree" params={params} /> } : {})}
        {...(parts && timed ? { tracks: <parts.Tracks of={activity} /> } : {})}
        {...(parts && activity?.markers ? { markers: () => <parts.Markers params={params} zero={activity.zero ?? 0} /> } : {})}
        menus={[...typeMenu(types, type, waits(params, types)), ...labelMenu(activity?.labels ?? [], params, tree.unit)]}
        downloads={downloads('tree', params)}
      />
    </div>
  );
}

function withForm(q: URLSearchParams): URLSearchParams {
  const p = new URLSearchParams(q);
  p.set('form', 'compact');
  if (p.has('file')) p.set('activity', 'true');
  return p;
}

/** Without a selection there is no profile: the benchmarks, of which one is. */
function Moved({ params }: { params: URLSearchParams }) {
  useEffect(() => replaceWith(format({ page: 'benchmarks', params: withChanges(params, { list: null, type: null, q: null }) })), []);
  return <Waiting />;
}
