// The lines of a function with self and total beside their text, where the original files
// were kept.
import { amount, count, counted, visible } from '../core/format';
import { Await, useAnswer } from './Load';

interface FunctionLines {
  function: string;
  file: string;
  module: string;
  total: number;
  self: number;
  lines: { line: number; total: number; self: number; source?: string }[];
}

interface LinesAnswer {
  unit: string;
  notes?: string[];
  rows: FunctionLines[];
}

/** The name of a function as the pattern that only it matches. */
export const exactly = (name: string): string => name.replace(/[\\;]/g, '\\$&');

export function Source({ name, at }: { name: string; at: Record<string, string | number | readonly string[]> }) {
  const answer = useAnswer<LinesAnswer>('lines', { ...at, function: exactly(name), rows: 3 });
  return (
    <Await of={answer} what="the lines">
      {a => a.rows.map(f => <Listing key={`${f.file} ${f.module}`} f={f} unit={a.unit} />)}
    </Await>
  );
}

function Listing({ f, unit }: { f: FunctionLines; unit: string }) {
  const most = Math.max(...f.lines.map(l => Math.abs(l.total)), 1);
  const text = f.lines.some(l => l.source !== undefined);
  return (
    <figure class="source">
      <figcaption>
        {visible(f.file || f.module)} <small class="dim">{`${counted(f.lines.length, 'line')}, self ${amount(f.self, unit)}, total ${amount(f.total, unit)}`}</small>
      </figcaption>
      {!text && <p class="dim">The server shows no text of it: the file is not in its repository, or this browser may not see code.</p>}
      <div class="scroll" tabIndex={0} role="region" aria-label={`Lines of ${visible(f.function)}`}>
        <table>
          <thead>
            <tr>
              <th class="num">Self</th>
              <th class="num">Total</th>
              <th class="num">Line</th>
              <th>{text ? 'Text' : ''}</th>
            </tr>
          </thead>
          <tbody>
            {f.lines.map(l => (
              <tr key={l.line} class={l.total ? '' : 'dim'}>
                <td class="num">{l.self ? amount(l.self, unit) : ''}</td>
                <td class="num cellbar" style={{ '--share': `${(100 * Math.abs(l.total)) / most}%` }}>
                  {l.total ? amount(l.total, unit) : ''}
                </td>
                <td class="num dim">{l.line ? count(l.line) : '?'}</td>
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
