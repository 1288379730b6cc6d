// Profiles by drag and drop: shown from the memory of this page, or imported.
import { useEffect, useRef, useState } from 'preact/hooks';
import { keepFile, keptFile } from '../core/files';
import { amount, counted } from '../core/format';
import { mayChange, session } from '../core/session';
import { source } from '../core/source';
import { go } from '../core/url';
import { asError, Failure } from './Load';

/** Shows a file, or compares two, without storing them; false: there are more, or one is too large for the server. */
export function shown(files: readonly File[]): boolean {
  const limit = session.value?.limits?.upload ?? Number.POSITIVE_INFINITY;
  if (files.length === 0 || files.length > 2 || files.some(f => f.size > limit)) return false;
  const [first, second] = files.map(keepFile);
  if (second === undefined) go('profile', { file: first });
  else go('diff', { 'base-file': first, 'head-file': second });
  return true;
}

/** What else to do with a file that is shown: store it, or compare it. */
export function OfFile({ name }: { name: string }) {
  const [open, setOpen] = useState(false);
  const file = keptFile(name);
  if (!file) return null;
  return (
    <>
      <button type="button" onClick={() => setOpen(true)}>
        {mayChange() ? 'Import or compare…' : 'Compare…'}
      </button>
      {open && <Choice files={[file as File]} setFiles={() => {}} branch="" close={() => setOpen(false)} />}
    </>
  );
}

/** Takes files that are dropped anywhere on the page, if it is wanted. */
export function useDrop(take: (files: File[]) => unknown, wanted = true): void {
  const [over, setOver] = useState(false);
  useEffect(() => {
    if (!wanted) return;
    const drag = (e: DragEvent) => {
      if (!e.dataTransfer?.types.includes('Files')) return;
      setOver(e.type === 'dragover' && !e.defaultPrevented);
      if (e.defaultPrevented) return; // what is under the pointer takes it
      e.preventDefault();
      if (e.type === 'drop') take([...e.dataTransfer.files]);
    };
    const names = ['dragover', 'dragleave', 'drop'] as const;
    for (const n of names) document.addEventListener(n, drag);
    return () => {
      for (const n of names) document.removeEventListener(n, drag);
    };
  }, [wanted]);
  useEffect(() => {
    document.getElementById('main')?.classList.toggle('drop', over);
  }, [over]);
}

/** A place to drop files, and a button for people without a mouse. One file is shown at once, two are compared. Imports are of the branch that the page shows. */
export function Upload({ done, branch }: { done: () => void; branch: string }) {
  const [files, setFiles] = useState<File[]>([]);
  const input = useRef<HTMLInputElement>(null);
  const take = (files: File[]) => {
    if (!shown(files)) setFiles(files);
  };
  useDrop(take);
  return (
    <>
      <button type="button" onClick={() => input.current?.click()} title="or drop files anywhere on this page">
        Open profiles…
      </button>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        aria-label="Profiles"
        onChange={e => {
          const list = [...(e.currentTarget.files ?? [])];
          e.currentTarget.value = '';
          take(list);
        }}
      />
      {files.length > 0 && (
        <Choice
          files={files}
          setFiles={setFiles}
          branch={branch}
          close={stored => {
            setFiles([]);
            if (stored) done();
          }}
        />
      )}
    </>
  );
}

function Choice({ files, setFiles, branch, close }: { files: File[]; setFiles: (files: File[]) => void; branch: string; close: (stored: boolean) => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [labels, setLabels] = useState({ group: '', benchmark: '', run: '', branch });
  const [original, setOriginal] = useState(true);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<Error | undefined>();
  const [told, setTold] = useState('');
  useEffect(() => dialog.current?.showModal(), []);
  const limit = session.value?.limits?.upload;
  const large = limit ? files.filter(f => f.size > limit) : [];
  const store = async () => {
    setBusy(true);
    setError(undefined);
    try {
      const form = new FormData();
      form.append('labels', new Blob([JSON.stringify(labels)], { type: 'application/json' }));
      for (const f of files) form.append('file', f, f.name);
      const lines = (await source.value.send<string>('POST', 'import', { 'keep-source': original }, form, { text: true })).trim().split('\n');
      const failed = lines
        .map(l => JSON.parse(l) as { file?: string; status?: string; error?: string; problem?: { detail: string } })
        .filter(l => l.problem ?? l.status === 'failed');
      if (failed.length > 0) throw new Error(failed.map(l => `${l.file ?? 'upload'}: ${l.problem?.detail ?? l.error}`).join('\n'));
      setTold(`${counted(files.length, 'file')} imported.`);
      close(true);
    } catch (err) {
      setError(asError(err));
    }
    setBusy(false);
  };
  return (
    <dialog ref={dialog} class="upload" aria-label="Open profiles" onClose={() => close(told !== '')}>
      <form
        onSubmit={e => {
          e.preventDefault();
          void store();
        }}
      >
        <h2>
          {files.length === 1 ? files[0]!.name : files.length === 2 ? `${files[0]!.name} → ${files[1]!.name}` : counted(files.length, 'file')}
        </h2>
        <p class="dim">
          {amount(
            files.reduce((n, f) => n + f.size, 0),
            'bytes',
          )}
          {limit ? `, at most ${amount(limit, 'bytes')} per upload` : ''}. Every format and compression that <code>dendro import</code>{' '}
          reads.
        </p>
        {large.length > 0 && <p class="more">{`${large.map(f => f.name).join(', ')}: too large for this server.`}</p>}
        <div class="actions">
          <button
            type="button"
            class="primary"
            disabled={files.length > 2 || large.length > 0}
            title={files.length > 2 ? 'one file can be shown, or two compared' : ''}
            onClick={() => {
              dialog.current?.close();
              shown(files);
            }}
          >
            {files.length === 2 ? 'Compare without storing' : 'Show without storing'}
          </button>
          {files.length === 1 && (
            <button
              type="button"
              disabled={large.length > 0}
              onClick={() => {
                dialog.current?.close();
                go('diff', { 'head-file': keepFile(files[0]!) });
              }}
            >
              Compare with the store…
            </button>
          )}
          {files.length === 2 && (
            <button type="button" onClick={() => setFiles([files[1]!, files[0]!])}>
              Swap
            </button>
          )}
          <button type="button" onClick={() => dialog.current?.close()}>
            Cancel
          </button>
        </div>
        {mayChange() && (
          <fieldset class="card" disabled={busy}>
            <legend>Or import into the store</legend>
            {(['group', 'benchmark', 'run', 'branch'] as const).map(name => (
              <label key={name}>
                {{ group: 'Group', benchmark: 'Benchmark', run: 'Run (default: from the file)', branch: 'Branch' }[name]}
                <input value={labels[name]} onInput={e => setLabels({ ...labels, [name]: e.currentTarget.value })} />
              </label>
            ))}
            <label class="choice">
              <input type="checkbox" checked={original} onChange={e => setOriginal(e.currentTarget.checked)} /> Keep the original: threads over time, markers and
              lines need it
            </label>
            <button type="submit" disabled={large.length > 0}>
              {busy ? 'Importing…' : 'Import'}
            </button>
          </fieldset>
        )}
        {error && <Failure error={error} what="the import" />}
      </form>
    </dialog>
  );
}
