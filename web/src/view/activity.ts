// Whether a profile has threads over time and markers, which only files and kept originals say.
import { useEffect, useState } from 'preact/hooks';
import { dataParams, selectionParams } from '../core/request';
import { source } from '../core/source';
import { useLoad } from '../ui/Load';

export interface Activity {
  from: number;
  to: number;
  zero?: number;
  markers: number;
  rows: { name: string; id: string; process: string; samples: number; use: number[] }[];
}

/** The activity of the threads of one profile of a type, whatever of it is chosen; undefined: there is none to show. */
export function useActivity(params: URLSearchParams, type: string, one: boolean): Activity | undefined {
  const q = dataParams(params);
  if (!params.has('file')) q.set('type', type);
  for (const name of ['thread', 'range', 'search', 'kind', 'form']) q.delete(name);
  q.set('view', 'activity');
  q.set('no-idle', 'true');
  const answer = useLoad<Activity | undefined>(`activity?${one}&${q}`, async options => {
    const s = source.value;
    if (!one || s.offline) return undefined;
    if (!params.has('file')) {
      const of = selectionParams(params);
      of.set('type', type);
      const { rows } = await s.get<{ rows: { hasSource?: boolean }[] }>('profiles', of, options);
      if (rows.length !== 1 || !rows[0]!.hasSource) return undefined;
    }
    return s.get<Activity>('tree', q, options);
  });
  return answer.value;
}

type Parts = typeof import('./Tracks');

/** The code of the tracks, which is loaded when a profile has some. */
export function useTracks(wanted: boolean): Parts | undefined {
  const [parts, set] = useState<Parts>();
  useEffect(() => {
    if (wanted) void import('./Tracks').then(set);
  }, [wanted]);
  return parts;
}
