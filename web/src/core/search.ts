// Search of functions by name, file or module: a regular expression, or the text itself
// if it is none.
import type { Tree } from './profile';
import type { Func } from './table';

export interface Found {
  /** Of each function, whether it matches. */
  functions: Uint8Array;
  count: number;
  /** The share of each side's total below or in what matches; a sample counts once. */
  share: number[];
  /** The text is no regular expression and was taken as it is. */
  literal: boolean;
}

/** Compiles a search; capital letters make it case-sensitive. */
export function pattern(text: string): { test: (s: string) => boolean; literal: boolean } {
  const flags = /[A-Z]/.test(text.replace(/\\./g, '')) ? 'u' : 'iu';
  try {
    const r = new RegExp(text, flags);
    return { test: s => r.test(s), literal: false };
  } catch {
    const low = text.toLowerCase();
    return flags === 'u' ? { test: s => s.includes(text), literal: true } : { test: s => s.toLowerCase().includes(low), literal: true };
  }
}

/** The functions that match by name, file or module. */
export function matches(all: readonly Func[], text: string): { functions: Uint8Array; count: number; literal: boolean } {
  const p = pattern(text);
  const functions = new Uint8Array(all.length);
  let count = 0;
  all.forEach((f, i) => {
    if (p.test(f.name) || p.test(f.file) || p.test(f.module)) {
      functions[i] = 1;
      count++;
    }
  });
  return { functions, count, literal: p.literal };
}

export function search(t: Tree, text: string): Found | null {
  if (!text) return null;
  const { n, fn, end, functions: all } = t.table;
  const found = matches(all, text);
  const sum = t.self.map(() => 0);
  for (let i = 0; i < n; ) {
    if (!found.functions[fn[i]!]) {
      i++;
      continue;
    }
    t.total.forEach((total, s) => {
      sum[s]! += total[i]!;
    });
    i = end[i]!; // what is below counted already
  }
  return { ...found, share: sum.map((v, s) => (t.root[s] ? v / t.root[s]! : 0)) };
}

/** The pattern that finds what was typed into a search: a text without signs of a pattern is a part of a name. */
export const patternOf = (text: string): string => (/[*?;|^$\\]|^\//.test(text) ? text.trim() : `*${text.trim()}*`);
