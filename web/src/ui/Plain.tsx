// A plain table, all of whose rows are in the page, and notes above it.
import type { ComponentChildren } from 'preact';
import { visible } from '../core/format';
import { notesOf } from '../core/request';

export interface PlainColumn<T> {
  title: ComponentChildren;
  /** Explains the column. */
  hint?: string | undefined;
  numeric?: boolean;
  cell: (row: T, index: number) => ComponentChildren;
  class?: (row: T) => string;
  sorted?: 'ascending' | 'descending' | undefined;
  /** Explains the cell. */
  tip?: (row: T) => string | undefined;
}

interface Props<T> {
  rows: readonly T[];
  /** What is false is left out. */
  columns: readonly (PlainColumn<T> | false)[];
  rowClass?: ((row: T) => string) | undefined;
  onRow?: (row: T, event: MouseEvent) => void;
  /** Read out in place of a heading. */
  caption?: string;
  class?: string;
  /** A last row, with a cell for each column. */
  sum?: readonly ComponentChildren[] | undefined;
}

export function Plain<T>(p: Props<T>) {
  const columns = p.columns.filter(c => c !== false);
  const num = (c: PlainColumn<T>, more = '') => `${c.numeric ? 'num ' : ''}${more}`;
  return (
    <div class="scroll">
      <table class={`plain ${p.class ?? ''}`}>
        {p.caption && <caption class="hidden">{p.caption}</caption>}
        <thead>
          <tr>
            {columns.map((c, k) => (
              <th key={k} class={num(c)} title={c.hint} aria-sort={c.sorted}>
                {c.title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {p.rows.map((row, i) => (
            <tr key={i} class={p.rowClass?.(row) ?? ''} onClick={p.onRow && (e => p.onRow!(row, e))}>
              {columns.map((c, k) => (
                <td key={k} class={num(c, c.class?.(row))} title={c.tip?.(row)}>
                  {c.cell(row, i)}
                </td>
              ))}
            </tr>
          ))}
          {p.sum && (
            <tr>
              {p.sum.map((x, k) => (
                <td key={k} class={num(columns[k]!)}>
                  {x}
                </td>
              ))}
            </tr>
          )}
        </tbody>
      </table>
    </div>
  );
}

/** Names, and what is said of each. */
export const Terms = ({ of }: { of: readonly (readonly [name: string, value: ComponentChildren])[] }) => (
  <dl class="facts">
    {of.map(([name, value], i) => (
      <div key={`${i} ${name}`}>
        <dt>{name}</dt>
        <dd>{value}</dd>
      </div>
    ))}
  </dl>
);

/** The notes of an answer, a line each. */
export const Notes = ({ of }: { of: readonly string[] | undefined }) => (
  <>
    {notesOf(of).map(n => (
      <p key={n} class="dim">
        {visible(n)}
      </p>
    ))}
  </>
);
