// What of the store a page shows, to choose: branch, value type, metric, machine, time.
import type { Choices } from '../core/answers';
import { spans } from '../core/days';
import { visible } from '../core/format';
import { everyBranch, noChoices, scoped } from '../core/scope';
import { source } from '../core/source';
import { type Changes, place, update } from '../core/url';
import { useAnswer } from './Load';
import { amounts } from './Typed';
import { Select } from './Select';

type Name = 'branch' | 'group' | 'type' | 'metric' | 'machine' | 'since';

export interface Scope {
  /** Undefined until the base branch is known. */
  params: URLSearchParams | undefined;
  choices: Choices;
}

/** The parameters of the requests of a page; names are those that its requests have. */
export function useScope(names: readonly string[], sides = false): Scope {
  const { params } = place.value;
  const of = new URLSearchParams([...params].filter(([name]) => names.includes(name) && (name === 'group' || name === 'benchmark')));
  const answer = useAnswer<Choices>('choices', source.value.offline ? null : of);
  const known = source.value.offline || answer.value || answer.error; // the page's own request says what is wrong
  return { params: known ? scoped(params, names, answer.value, sides) : undefined, choices: answer.value ?? noChoices };
}

/** The one branch that a page shows; empty: all, or there is none. */
export function branchOf(scope: Scope): string {
  const [branch = scope.choices.base ?? '', more] = place.value.params.getAll('branch');
  return more !== undefined || branch === everyBranch ? '' : branch;
}

interface Props {
  scope: Scope;
  show: readonly Name[];
  /** The value type that is shown, where it is always one. */
  type?: string;
  /** The branch without a choice; the base branch. */
  branch?: string;
  /** What a choice sets besides. */
  also?: Changes;
}

/** Shows those of the choices that have more than one. */
export function Pickers({ scope, show, type, branch = scope.choices.base ?? '', also }: Props) {
  const { choices } = scope;
  const { params } = place.value;
  if (source.value.offline) return null;
  const plain = (list: readonly string[]) => list.map((x): [string, string] => [x, visible(x)]);
  const options: Record<Name, [value: string, label: string][]> = {
    branch: [...plain(choices.branches.map(b => b.branch)), [everyBranch, 'All branches']],
    group: [['', 'All groups'], ...plain(choices.groups)],
    type: [...(type === undefined ? [['', 'All values'] as [string, string]] : []), ...plain(amounts(choices.types, params.get('type') ?? type))],
    metric: [['', 'Main metric'], ...plain(choices.metrics)],
    machine: [['', 'All machines'], ...plain(choices.machines)],
    since: spans.filter(([age]) => !age.endsWith('h')),
  };
  const now: Partial<Record<Name, string>> = { branch, type: type ?? '' };
  const titles: Record<Name, string> = { branch: 'Branch', group: 'Group', type: 'Value', metric: 'Metric', machine: 'Machine', since: 'Time' };
  const least: Partial<Record<Name, number>> = { type: type === undefined ? 3 : 2, since: 2 };
  return (
    <div class="pickers">
      {show.map(name => {
        const chosen = params.get(name) ?? now[name] ?? '';
        const list = options[name];
        if (list.length < (least[name] ?? 3)) return null;
        return <Select key={name} title={titles[name]} value={chosen} options={list} change={v => update({ ...also, [name]: v === now[name] ? null : v }, true)} />;
      })}
    </div>
  );
}
