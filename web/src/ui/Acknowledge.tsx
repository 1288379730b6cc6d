// Accepting a change: the entry for .dendro/acknowledged.json, to copy. The server keeps
// none, so that the repository stays the one place that says what was accepted; this
// browser remembers it for its own pages.
import { signal } from '@preact/signals';
import { useRef, useState } from 'preact/hooks';
import type { Change } from '../core/answers';
import { source } from '../core/source';

interface Entry {
  id: string;
  until?: string;
  upTo?: number;
  reason: string;
}

const key = 'dendro-acknowledged';

function read(): Entry[] {
  try {
    const list: unknown = JSON.parse(localStorage.getItem(key) ?? '[]');
    return Array.isArray(list) ? (list as Entry[]) : [];
  } catch {
    return [];
  }
}

/** What was accepted in this browser. */
export const accepted = signal<Entry[]>(read());

export function setAccepted(list: Entry[]): void {
  accepted.value = list;
  try {
    localStorage.setItem(key, JSON.stringify(list));
  } catch {
    // it holds until the page is closed
  }
}

export function Acknowledge({ c }: { c: Change }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [reason, setReason] = useState('');
  const [until, setUntil] = useState('');
  const [copied, setCopied] = useState(false);
  const entry: Entry = { id: c.id, upTo: Number(Math.abs(c.delta.share).toFixed(4)), reason };
  if (until) entry.until = until;
  const text = JSON.stringify(entry, null, 2);
  if (source.value.offline) return null;
  return (
    <>
      <button type="button" onClick={() => dialog.current?.showModal()}>
        Accept…
      </button>
      <dialog ref={dialog} class="accept" aria-label="Accept this change">
        <form
          method="dialog"
          onSubmit={() => {
            setAccepted([...accepted.value.filter(e => e.id !== c.id), entry]);
          }}
        >
          <h2>Accept this change</h2>
          <p>
            Copy the entry into the list in <code>.dendro/acknowledged.json</code> of the repository, and commit it:{' '}
            <code>dendro check</code> and reports then accept the change until it grows. This browser also remembers it, for its own pages.
          </p>
          <label>
            Reason <input value={reason} onInput={e => setReason(e.currentTarget.value)} />
          </label>
          <label>
            Until <input type="date" value={until} onInput={e => setUntil(e.currentTarget.value)} />
          </label>
          <pre tabIndex={0} aria-label="Entry">
            {text}
          </pre>
          <div class="actions">
            <button
              type="button"
              onClick={async () => {
                await navigator.clipboard.writeText(text);
                setCopied(true);
              }}
            >
              {copied ? 'Copied' : 'Copy'}
            </button>
            <button type="submit" class="primary">
              Accept in this browser
            </button>
            <button type="button" onClick={() => dialog.current?.close()}>
              Close
            </button>
          </div>
        </form>
      </dialog>
    </>
  );
}
