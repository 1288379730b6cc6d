// An answer that is asked for again while something runs and the page is visible.
import { useEffect, useRef } from 'preact/hooks';
import { type Options, type Params, queryOf, source } from '../core/source';
import { type Loading, useLoad } from './Load';

/** Loads again after every interval, in ms, while it is not 0. */
export function usePolled<T>(path: string, params: Params, interval: number): Loading<T> {
  const last = useRef<NonNullable<Options['last']>>({}).current;
  const answer = useLoad<T>(`${path}?${queryOf(params)}`, options => source.value.get<T>(path, params, { ...options, last }));
  const { retry, busy } = answer;
  useEffect(() => {
    if (!interval || busy) return;
    const timer = setTimeout(function ask() {
      if (document.hidden) document.addEventListener('visibilitychange', ask, { once: true });
      else retry();
    }, interval);
    return () => clearTimeout(timer);
  }, [interval, busy]);
  return { ...answer, busy: busy && answer.value === undefined };
}
