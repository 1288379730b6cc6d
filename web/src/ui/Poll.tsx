// An answer that is asked for again while something runs and the page is visible.
import { useEffect, useMemo } from 'preact/hooks';
import { type Options, type Params, queryOf, source } from '../core/source';
import { type Loading, useLoad } from './Load';

/** Loads again after every interval, in ms, while it is not 0; nothing without parameters. What is the same as before is neither sent nor read again. */
export function usePolled<T, A = T>(path: string, params: Params | null, interval: number, read?: (answer: A, signal?: AbortSignal) => Promise<T>): Loading<T> {
  const key = params ? `${path}?${queryOf(params)}` : '';
  const last = useMemo<NonNullable<Options['last']>>(() => ({}), [key]);
  const answer = useLoad<T>(key, async options => {
    const answer = await source.value.get<A>(path, params!, { ...options, last });
    if (answer === last.value) return last.value as T;
    last.value = undefined; // until it is read
    return (last.value = read ? await read(answer, options.signal) : answer) as T;
  });
  const { retry, busy } = answer;
  useEffect(() => {
    if (!interval || busy || !key) return;
    const timer = setTimeout(function ask() {
      if (document.hidden) document.addEventListener('visibilitychange', ask, { once: true });
      else retry();
    }, interval);
    return () => clearTimeout(timer);
  }, [interval, busy]);
  return { ...answer, busy: busy && answer.value === undefined };
}
