// The lines of a function with self and total beside their text, where the original files
// were kept.
import type { FunctionLines, LinesResult } from '../core/answers';
import { amount, counted, visible } from '../core/format';
import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import type { Func } from '../core/table';
import { formatPath } from '../core/transforms';
import { type Params, pause, queryOf, source } from '../core/source';
import { Await, useLoad } from './Load';
import { Outside } from './Outside';

/** The lines of a function. Children are shown in place of an error. */
export function Source({ name, at, children }: { name: string; at: Params; children?: ComponentChildren }) {
  const asked = queryOf(at);
  asked.set('function', formatPath([name]));
  asked.set('rows', '3');
  // Whoever walks through a graph does not ask for the lines of every function on the way.
  const answer = useLoad<LinesResult>(`lines?${asked}`, async options => {
    await pause(150, options.signal);
    return source.value.get<LinesResult>('lines', asked, options);
  });
  if (answer.error && children) return <>{children}</>;
  return (
    <Await of={answer} what="the lines">
      {a => a.rows.map(f => <Listing key={`${f.file} ${f.module}`} f={f} unit={a.unit} />)}
    </Await>
  );
}

/** A function of a service whose lines are not kept: where it begins, and how to get its lines. */
export function Declared({ f, self, total, unit }: { f: Func; self: number; total: number; unit: string }) {
  return (
    <>
      <p class="dim">
        No lines of this selection are kept.{' '}
        {f.file ? `${f.line > 0 ? `The function begins at line ${f.line}` : 'The function is'} in ${visible(f.file)}. ` : ''}
        For its lines, record a profile of one instance and drop the file on this page.
      </p>
      {f.file && f.line > 0 && <Listing f={{ function: f.name, file: f.file, module: f.module, self, total, lines: [{ line: f.line, self, total }] }} unit={unit} />}
    </>
  );
}

/** The lines of files that were opened or dropped on this page, by the file of the functions. They stay in the browser. */
const opened = signal<Record<string, string[]>>({});

const nameOf = (file: string): string => file.slice(Math.max(file.lastIndexOf('/'), file.lastIndexOf('\\')) + 1);

/** Takes the file of this name, or the only one. */
async function open(file: string, files: FileList | null | undefined): Promise<void> {
  const list = [...(files ?? [])];
  const one = list.find(f => f.name === nameOf(file)) ?? (list.length === 1 ? list[0] : undefined);
  if (one) opened.value = { ...opened.value, [file]: (await one.text()).split(/\r?\n/) };
}

const around = 3;

/** The lines with amounts beside the text of a file, and those between and around them. */
function withText(lines: FunctionLines['lines'], text: readonly string[]): FunctionLines['lines'] {
  const known = lines.filter(l => l.line > 0);
  const of = new Map(known.map(l => [l.line, l]));
  const from = Math.max(1, Math.min(...of.keys()) - around);
  const to = Math.min(text.length, Math.max(...of.keys()) + around);
  const list = Array.from({ length: Math.max(0, to - from + 1) }, (_, i) => ({ ...(of.get(from + i) ?? { line: from + i, total: 0, self: 0 }), source: text[from + i - 1]! }));
  return [...list, ...lines.filter(l => l.line <= 0 || l.line > to)];
}

function Listing({ f, unit }: { f: FunctionLines; unit: string }) {
  const most = Math.max(...f.lines.map(l => Math.abs(l.total)), 1);
  const name = nameOf(f.file);
  const mine = opened.value[f.file];
  const lines = mine && f.lines.some(l => l.line > 0) ? withText(f.lines, mine) : f.lines;
  const text = lines.some(l => l.source !== undefined);
  return (
    <figure
      class="source"
      onDragOver={e => e.preventDefault()}
      onDrop={e => {
        e.preventDefault();
        void open(f.file, e.dataTransfer?.files);
      }}
    >
      <figcaption>
        <Outside to={f.link}>{visible(f.file || f.module)}</Outside>{' '}
        <small class="dim">{`${counted(f.lines.length, 'line')}, self ${amount(f.self, unit)}, total ${amount(f.total, unit)}`}</small>
      </figcaption>
      {!text && (
        <p class="dim">
          The server has no text of it, or may not show it.{' '}
          {name && (
            <label>
              Drop {visible(name)} here or open it: <input type="file" onChange={e => void open(f.file, e.currentTarget.files)} />
            </label>
          )}
        </p>
      )}
      {mine && (
        <p class="dim">
          Text of the file that you opened. It may be another version than the one that ran.{' '}
          <button type="button" onClick={() => (opened.value = Object.fromEntries(Object.entries(opened.value).filter(([n]) => n !== f.file)))}>
            Close it
          </button>
        </p>
      )}
      <div class="scroll" tabIndex={0} role="region" aria-label={`Lines of ${visible(f.function)}`}>
        <table>
          <thead>
            <tr>
              <th class="num">Self</th>
              <th class="num">Total</th>
              <th class="num">Line</th>
              <th>{text ? 'Text' : <span class="hidden">Share</span>}</th>
            </tr>
          </thead>
          <tbody>
            {lines.map(l => (
              <tr key={l.line} class={l.total ? '' : 'dim'}>
                <td class="num">{l.self ? amount(l.self, unit) : ''}</td>
                <td class="num cellbar" style={{ '--share': `${(100 * Math.abs(l.total)) / most}%` }}>
                  {l.total ? amount(l.total, unit) : ''}
                </td>
                <td class="num dim">
                  <Outside to={f.link && l.line ? `${f.link}#L${l.line}` : ''}>{l.line || '?'}</Outside>
                </td>
                <td>
                  <code>{visible((l.source ?? '').replace(/\t/g, '    '))}</code>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </figure>
  );
}
