// Whether a profile has threads over time, markers and labels of samples, which only files and
// kept originals say.
import { useEffect, useState } from 'preact/hooks';
import type { Activity, Label } from '../core/answers';
import { amount, visible } from '../core/format';
import { selectionParams } from '../core/request';
import { source } from '../core/source';
import { update } from '../core/url';
import { useLoad } from '../ui/Load';
import type { Group } from '../ui/Menu';

/** The activity of the threads of a stored profile of a type, whatever of it is chosen; undefined: there is none to show. That of a file comes with its tree. */
export function useActivity(params: URLSearchParams, type: string, one: boolean): Activity | undefined {
  const stored = one && !params.has('file') && !source.value.offline;
  const q = selectionParams(params);
  q.set('type', type);
  const answer = useLoad<Activity | undefined>(stored ? `activity?${q}` : '', async options => {
    const { rows } = await source.value.get<{ rows: { hasSource?: boolean }[] }>('profiles', q, options);
    if (rows.length !== 1 || !rows[0]!.hasSource) return undefined;
    return source.value.get<Activity>('tree', new URLSearchParams([...q, ['view', 'activity'], ['no-idle', 'true']]), options);
  });
  return answer.busy ? undefined : answer.value;
}

/** The filters by labels, as the address has them, and what they are called above the view. */
export const labelFilters = { label: 'label', 'no-label': 'without', 'root-label': 'grouped by', 'leaf-label': 'leaves by' } as const;

/** The menu of the labels of samples: group by a key, or keep one of its values. */
export function labelMenu(labels: readonly Label[], params: URLSearchParams, unit: string): Group[] {
  const toggled = (name: 'label' | 'root-label', text: string) => {
    const list = params.getAll(name);
    const checked = list.includes(text);
    return { checked, run: () => update({ [name]: checked ? list.filter(x => x !== text) : [...list, text], zoom: null }, true) };
  };
  if (labels.length === 0) return [];
  return [
    {
      label: 'Labels',
      title: 'labels of samples',
      items: labels.flatMap(l => [
        { label: `group by ${visible(l.key)}`, ...(l.none > 0 && { hint: `${amount(l.none, unit)} without` }), ...toggled('root-label', l.key) },
        ...l.values.map(v => ({ label: visible(`${l.key}=${v.value}`), hint: amount(v.total, unit), ...toggled('label', `${l.key}=${v.value}`) })),
      ]),
    },
  ];
}

type Parts = typeof import('./Tracks');

let loaded: Parts | undefined;

/** The code of the tracks, which is loaded when a profile has some; the profiles of a report have none. */
export function useTracks(wanted: boolean): Parts | undefined {
  const [parts, set] = useState(loaded);
  useEffect(() => {
    if (wanted && !loaded && !import.meta.env.VITE_REPORT) void import('./Tracks').then(code => set((loaded = code)));
  }, [wanted]);
  return parts;
}
