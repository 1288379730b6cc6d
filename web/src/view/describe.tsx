// How functions and their numbers are written: in tips, the sidebar and tables.
import { amount, percent, relative, rounded, signed, trimmed, visible } from '../core/format';
import type { Tree } from '../core/profile';
import { type Func, parts } from '../core/table';

/** The functions that have the short name of another one: "template.(*Template).Execute" of two packages. */
export function namesakes(functions: readonly Func[]): ReadonlySet<Func> {
  const first = new Map<string, Func>();
  const found = new Set<Func>();
  for (const f of functions) {
    const name = parts(f).slice(1).join('');
    const other = first.get(name);
    if (!other) first.set(name, f);
    else found.add(f).add(other);
  }
  return found;
}

/**
 * A function's name: its package is dim. The folders of the package are in the title only, in tables of narrow windows all
 * but the method; told apart, the last folder is before the package.
 */
export function Name({ f, short = true, apart = false }: { f: Func; short?: boolean; apart?: boolean }) {
  const [folders, pkg, symbol] = parts(f);
  const method = symbol.replace(/^\(\*?[^)]*\)\./, '');
  return (
    <span class="name" title={short ? [f.name, f.baseName && `renamed: ${f.baseName} in the base`, placeOf(f)].filter(Boolean).join('\n') : undefined}>
      <span class="pkg">
        {visible(short ? (apart ? (/[^/.]*[/.]?$/.exec(folders)?.[0] ?? '') : '') : folders)}
        {visible(short && pkg.length > 60 ? pkg.replace(/<.*>/s, '<…>') : pkg)}
      </span>
      <span class="receiver">{visible(symbol.slice(0, symbol.length - method.length))}</span>
      {visible(method)}
      {f.baseName && <span class="was"> was {visible(f.baseName)}</span>}
    </span>
  );
}

export const placeOf = (f: Func): string =>
  visible([f.file && f.file + (f.line > 0 ? `:${f.line}` : ''), f.module].filter(Boolean).join(' · '));

export const tone = (change: number): string => (change > 0 ? 'more' : change < 0 ? 'less' : 'faint');

/** The difference of two values, with the digits that its noise leaves; a dash for what rounding alone makes. */
export function deltaText(base: number, now: number, t: Tree): string {
  if (Math.abs(now - base) <= 1e-5 * Math.max(Math.abs(base), Math.abs(now))) return '–';
  const delta = rounded(now - base, t.noise(base, now));
  return delta === 0 ? '–' : trimmed(signed(delta, v => amount(v, t.unit)));
}

/** What happened to a function or call path, in a word. */
export function verdict(
  t: Tree,
  base: number,
  now: number,
  outside?: boolean,
): 'new' | 'vanished' | 'slower' | 'faster' | 'within noise' | '' {
  if (base === now) return '';
  if (t.change(base, now, outside) === 0) return 'within noise';
  if (base === 0) return 'new';
  if (now === 0) return 'vanished';
  return now > base ? 'slower' : 'faster';
}

/** The numbers of a node or function: self and total, of both sides of a diff. */
export function Numbers({
  t,
  self,
  total,
  outside,
}: {
  t: Tree;
  self: readonly number[];
  total: readonly number[];
  outside?: boolean | undefined;
}) {
  const lines: [string, readonly number[]][] = [
    ['total', total],
    ['self', self],
  ];
  if (!t.isDiff)
    return (
      <table>
        <tbody>
          {lines.map(([label, v]) => (
            <tr key={label}>
              <th scope="row">{label}</th>
              <td>{amount(v[0]!, t.unit)}</td>
              <td>{percent(t.root[0] ? v[0]! / t.root[0] : 0)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    );
  return (
    <>
      <table>
        <thead>
          <tr>
            {['', 'base', 'head', 'delta', 'relative'].map(h => (
              <th key={h} scope="col">
                {h || <span class="hidden">Value</span>}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {lines.map(([label, v]) => {
            const change = v === self ? t.changeOfSelf(v[0]!, v[1]!, outside) : t.change(v[0]!, v[1]!, outside);
            return (
              <tr key={label}>
                <th scope="row">{label}</th>
                <td>{amount(v[0]!, t.unit)}</td>
                <td>{amount(v[1]!, t.unit)}</td>
                <td class={tone(change)}>{deltaText(v[0]!, v[1]!, t)}</td>
                <td class={tone(change)}>{relative(v[0]!, v[1]!, t.noise(v[0]!, v[1]!))}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
      <small>{verdictText(t, total[0]!, total[1]!, outside)}</small>
    </>
  );
}

function verdictText(t: Tree, base: number, now: number, outside?: boolean): string {
  const word = verdict(t, base, now, outside);
  if (word === '') return 'unchanged';
  if (outside !== undefined) return outside ? `${word}, outside of the band of the history` : 'within the band of the history';
  const noise = t.noise(base, now);
  const range = noise > 0 ? ` (noise ±${amount(noise, t.unit)})` : '';
  switch (word) {
    case 'within noise':
      return `within sampling noise${range}`;
    case 'new':
      return `new: only on the head side${range}`;
    case 'vanished':
      return `vanished: only in the base${range}`;
  }
  return `${word}, outside of the noise${range}`;
}
