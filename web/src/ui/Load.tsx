// Answers on their way: progress, errors with a retry, and what came.
import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useState } from 'preact/hooks';
import { amount, visible } from '../core/format';
import { withoutFlags } from '../core/request';
import { type Options, type Params, Problem, queryOf, source } from '../core/source';
import { atOnce, inSteps, type Steps } from '../core/steps';
import { href } from '../core/url';

export interface Loading<T> {
  value: T | undefined;
  error: Error | undefined;
  /** An answer is on its way; value may be of the request before. */
  busy: boolean;
  bytes: number;
  retry: () => void;
}

export const asError = (thrown: unknown): Error => (thrown instanceof Error ? thrown : new Error(String(thrown)));

/** Loads when key changes; nothing without one. The value before stays until the next one comes. */
export function useLoad<T>(key: string, load: (options: Options) => Promise<T>): Loading<T> {
  const [state, set] = useState<{ value?: T; error?: Error; busy: boolean; bytes: number }>({ busy: key !== '', bytes: 0 });
  const [attempt, again] = useState(0);
  useLayoutEffect(() => {
    if (!key) return set(s => (s.busy || 'value' in s ? { busy: false, bytes: 0 } : s));
    const control = new AbortController();
    let shown = 0;
    const progress = (bytes: number) => {
      const now = performance.now();
      if (now - shown < 100) return;
      shown = now;
      set(s => ({ ...s, bytes }));
    };
    set(s => ({ ...('value' in s ? { value: s.value as T } : {}), busy: true, bytes: 0 }));
    load({ signal: control.signal, progress }).then(
      value => {
        if (!control.signal.aborted) set({ value, busy: false, bytes: 0 });
      },
      error => {
        if (!control.signal.aborted) set({ error: asError(error), busy: false, bytes: 0 });
      },
    );
    return () => control.abort();
  }, [key, attempt]);
  return { value: state.value, error: state.error, busy: state.busy, bytes: state.bytes, retry: () => again(attempt + 1) };
}

/** Loads an answer of the API; it is asked again when the parameters change, and not without them. */
export function useAnswer<T>(path: string, params: Params | null = {}): Loading<T> {
  return useLoad<T>(params ? `${path}?${queryOf(params)}` : '', options => source.value.get<T>(path, params!, options));
}

/** What is computed of inputs: at once, or if it is long in steps after the page was drawn. Until then, busy, it is of the inputs before. */
export function useSteps<T>(make: () => Steps<T>, inputs: readonly unknown[], long: boolean): { value: T | undefined; busy: boolean } {
  const of = useMemo(() => ({}), [...inputs, long]);
  const now = useMemo(() => (long ? undefined : atOnce(make())), [of]);
  const [late, set] = useState<{ of: object; value: T }>();
  useEffect(() => {
    if (!long) return set(undefined);
    const control = new AbortController();
    inSteps(make(), control.signal).then(
      value => set({ of, value }),
      error => {
        if (!control.signal.aborted) throw error;
      },
    );
    return () => control.abort();
  }, [of]);
  return long ? { value: late?.value, busy: late?.of !== of } : { value: now, busy: false };
}

/** Says that something is on its way. */
export const Waiting = () => (
  <div class="loading" role="status">
    <progress aria-label="Loading" />
  </div>
);

interface AwaitProps<T> {
  of: Loading<T>;
  what: string;
  /** The page around a failure, where what was loaded has its own. */
  page?: (failure: ComponentChildren) => ComponentChildren;
  children: (value: T) => ComponentChildren;
}

/** Shows what was loaded, or why not. */
export function Await<T>({ of, what, page = failure => failure, children }: AwaitProps<T>) {
  if (of.error) return <>{page(<Failure error={of.error} retry={of.retry} what={what} />)}</>;
  return (
    <>
      {of.busy && (
        <div class="loading" role="status">
          <progress aria-label={`Loading ${what}`} />
          {of.value === undefined && (
            <span>
              Loading {what}
              {of.bytes > 0 && `: ${amount(of.bytes, 'bytes')}`}
            </span>
          )}
        </div>
      )}
      {of.value !== undefined && children(of.value)}
    </>
  );
}

/** Statuses of a request that is answered in the same way when it is sent again. */
const lasting = [400, 403, 404, 413, 422, 501];

export function Failure({ error, retry, what }: { error: Error; retry?: () => void; what: string }) {
  return (
    <div class="failure" role="alert">
      <h2>{error instanceof Problem ? error.title : `Could not show ${what}`}</h2>
      <p>{visible(withoutFlags(error.message))}</p>
      {retry && !(error instanceof Problem && lasting.includes(error.status)) && (
        <button type="button" onClick={retry}>
          Try again
        </button>
      )}
      {error instanceof Problem && error.status === 404 && !source.value.offline && <a href={href('home')}>Everything in the store</a>}
    </div>
  );
}
