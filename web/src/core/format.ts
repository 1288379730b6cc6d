// Numbers as package words of the Go program writes them, so that they look the same
// on every surface.

const steps: Record<string, [by: number, ...units: string[]]> = {
  nanoseconds: [1000, 'ns', 'µs', 'ms', 's'],
  microseconds: [1000, 'µs', 'ms', 's'],
  milliseconds: [1000, 'ms', 's'],
  bytes: [1024, 'B', 'KiB', 'MiB', 'GiB', 'TiB'],
};

/** "1.28", "12.8", "1,285", "3", "18.6e-6". Numbers below 0.001 have an exponent that is a multiple of three. */
export function number(v: number): string {
  const a = Math.abs(v);
  if (!Number.isFinite(v)) return String(v);
  if (a >= 100 || Math.abs(v - Math.round(v)) <= 1e-12 * a) return count(Math.round(v));
  if (a >= 10) return v.toFixed(1);
  if (a >= 1) return v.toFixed(2);
  if (a < 0.0009995 && a > 0) {
    const [digits, power] = v.toExponential(2).split('e') as [string, string];
    const third = 3 * Math.floor(+power / 3);
    return `${+(+digits * 10 ** (+power - third)).toPrecision(3)}e${third}`;
  }
  return String(+v.toPrecision(3));
}

/** "570,000,000"; of a whole number. */
export const count = (n: number): string => n.toFixed().replace(/\B(?=(\d{3})+$)/g, ',');

/** "12.3%", and below one per cent "0.53%"; whole ones if the noise leaves no more digits. */
export function percent(share: number, noise = 0): string {
  if (!Number.isFinite(share)) return '';
  const p = Math.abs(100 * share);
  return p === 0 ? '0%' : `${rounded(100 * share, 100 * noise).toFixed(noise >= 0.03 ? 0 : p < 1 && noise < 0.003 ? 2 : 1)}%`;
}

/** "1.28 s", "5,120", "3 lines": a value in the unit of a value type; "share" is a fraction. */
export function amount(v: number, unit: string): string {
  if (unit === 'share') return percent(v);
  const [size, name] = scaled(v, unit);
  return number(v / size) + (name === 'count' || name === '' ? '' : ` ${name}`);
}

/** Leaves out zeros that say nothing: "1.50 s" is "1.5 s", "50.0%" is "50%". */
export const trimmed = (text: string): string => text.replace(/\.(\d*?)0+(?=[ %]|$)/, (_, digits: string) => (digits ? `.${digits}` : ''));

/** The values of an axis as text; zero has the unit of the others: "0 s" before "500 ms" and "1 s". */
export const levelText = (v: number, most: number, write: (v: number) => string): string => (v === 0 ? write(most).replace(/^[\d.,e-]+/, '0') : trimmed(write(v)));

/** The unit in which amount writes a value, and its size: 1024 and KiB for 5 KiB. */
export function scaled(v: number, unit: string): [size: number, name: string] {
  const [by, name = unit, ...larger] = steps[unit] ?? [1];
  let scale: [number, string] = [1, name];
  for (const next of larger) if (Math.abs(v) >= by * scale[0]) scale = [by * scale[0], next];
  return scale;
}

/** Puts a plus before what grew, and writes a minus of full width. */
export function signed(v: number, write: (v: number) => string): string {
  return v > 0 ? `+${write(v)}` : v < 0 ? `−${write(-v)}` : write(v);
}

/** Rounds a value to the digits that its noise leaves it: 618 ± 30 is 620, 2.27 ± 5 is 2. */
export function rounded(v: number, noise: number): number {
  if (!(noise > 0) || !Number.isFinite(noise)) return v;
  const step = 10 ** Math.floor(Math.log10(noise / 3));
  return Math.round(v / step) * step;
}

/** A change relative to its base: "+26.5%", "×12.3", "new"; with as many digits as the noise of the change leaves. */
export function relative(base: number, now: number, noise = 0): string {
  if (base === 0) return now === 0 ? '' : 'new';
  if (now === 0) return 'vanished';
  const change = (now - base) / Math.abs(base);
  if (Math.abs(change) >= 9.95) return `×${(change + 1).toFixed(noise > 0.3 * Math.abs(base) ? 0 : 1)}`;
  return signed(change, x => percent(x, noise / Math.abs(base)));
}

/** "2026-11-22 07:00", in UTC; of a date or of milliseconds since 1970; empty without one. */
export function instant(date: string | number | undefined): string {
  const d = new Date(date ?? 0);
  return d.getTime() > 0 ? d.toISOString().slice(0, 16).replace('T', ' ') : '';
}

/** The first ten characters of a commit. */
export const commit = (hash: string): string => hash.slice(0, 10);

/** What a count of samples is of: cpu, not cpu-samples. */
export const counting = (type: string, unit: string): string => (unit === 'count' ? type.replace('-samples', '') : type);

/** "1 run", "2 runs". */
export const counted = (n: number, word: string): string => `${count(n)} ${word}${n === 1 ? '' : 's'}`;

/** Replaces what has no glyph, or reverses text: names come from programs that nobody checked. What joins emoji stays. */
export function visible(s: string): string {
  return /^[ -~]*$/.test(s) ? s : s.replace(/(?!(?<=\p{Extended_Pictographic}[\uFE0F\u{1F3FB}-\u{1F3FF}]?)\u200D(?=\p{Extended_Pictographic}))[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}]/gu, '\uFFFD');
}

/** A range of time in words. */
export const rangeTitle = (range: string): string => `${range.split('..').map(t => number(Number(t))).join(' – ')} ms`;
