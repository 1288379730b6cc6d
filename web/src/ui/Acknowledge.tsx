// Accepting a change on the server, for everybody who asks it; the entry for the repository,
// which comes before what the server keeps, can be copied.
import { signal } from '@preact/signals';
import { useRef, useState } from 'preact/hooks';
import type { Change } from '../core/answers';
import { counted } from '../core/format';
import { benchmarkName, otherBenchmarks } from '../core/metric';
import { mayChange } from '../core/session';
import { source } from '../core/source';
import { asError, Failure } from './Load';
import { copy, say } from './Tip';
import { When } from './When';

/** Counts what this page accepted and withdrew, so that it asks again what changed. */
export const accepted = signal(0);

const nameKey = 'dendro-name';

/** The entry of .dendro/acknowledged.json for a row. */
export function entryOf(c: Change, reason: string, until: string) {
  return { id: c.id, ...(c.also.length > 0 && { also: others(c) }), upTo: upTo(c), reason, ...(until && { until }) };
}

const others = (c: Change): string[] => c.also.map(x => x.id);

const upTo = (c: Change): number => Number(Math.max(...[c, ...c.also].map(x => Math.abs(x.delta.share))).toFixed(4));

export function Acknowledge({ c }: { c: Change }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [reason, setReason] = useState('');
  const [until, setUntil] = useState('');
  const [by, setBy] = useState(localStorage.getItem(nameKey) ?? '');
  const [error, setError] = useState<Error | undefined>();
  const text = JSON.stringify(entryOf(c, reason, until), null, 2);
  const change = async (what: 'accept' | 'withdraw', params: Record<string, string | number | string[]>) => {
    try {
      await source.value.send('POST', what, { finding: c.id, also: others(c), ...params });
      dialog.current?.close();
      say(what === 'accept' ? 'Accepted' : 'The change counts again');
      accepted.value++;
    } catch (err) {
      setError(asError(err));
    }
  };
  if (c.acknowledged)
    return mayChange() ? (
      <>
        <button type="button" onClick={() => void change('withdraw', {})}>
          Withdraw the acceptance
        </button>
        {error && <Failure error={error} what="the change" />}
      </>
    ) : null;
  return (
    <>
      <button type="button" onClick={() => dialog.current?.showModal()}>
        Accept…
      </button>
      <dialog ref={dialog} class="accept" aria-label="Accept this change">
        <form
          onSubmit={e => {
            e.preventDefault();
            localStorage.setItem(nameKey, by);
            void change('accept', { benchmark: [c, ...c.also].map(benchmarkName), by, reason, until, 'up-to': upTo(c) });
          }}
        >
          <h2>{c.also.length > 0 ? `Accept this change in ${counted(otherBenchmarks(c).length + 1, 'benchmark')}` : 'Accept this change'}</h2>
          <p>
            {mayChange()
              ? 'The server keeps it: regressions, checks and reports against this server accept the change until it ends or the change grows to 1.5 times its size.'
              : 'This token may not change anything. Copy the entry into the list of the repository.'}
          </p>
          <label>
            Reason <input value={reason} onInput={e => setReason(e.currentTarget.value)} />
          </label>
          <When title="Until" days ahead value={until} onChange={setUntil} />
          {mayChange() && (
            <label>
              Your name <input value={by} autocomplete="name" onInput={e => setBy(e.currentTarget.value)} />
            </label>
          )}
          {error && <Failure error={error} what="the change" />}
          <div class="actions">
            {mayChange() && (
              <button type="submit" class="primary">
                Accept
              </button>
            )}
            <button type="button" onClick={() => dialog.current?.close()}>
              Close
            </button>
          </div>
          <details open={!mayChange()}>
            <summary>
              For <code>.dendro/acknowledged.json</code> of the repository, which comes first
            </summary>
            <pre tabIndex={0} aria-label="Entry">
              {text}
            </pre>
            <button type="button" onClick={() => void copy(text, 'entry')}>
              Copy
            </button>
          </details>
        </form>
      </dialog>
    </>
  );
}
