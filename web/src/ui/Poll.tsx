// An answer that is asked for again while something runs and the page is visible.
import { useEffect } from 'preact/hooks';
import type { Params } from '../core/source';
import { type Loading, useAnswer } from './Load';

/** Loads again after every interval, in ms, while it is not 0. */
export function usePolled<T>(path: string, params: Params, interval: number): Loading<T> {
  const answer = useAnswer<T>(path, params);
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
