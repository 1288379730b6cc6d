// Colours of boxes, in buckets: one fill style per bucket keeps drawing fast.
import { hash } from '../core/selection';
import type { Func } from '../core/table';

export type Colouring = 'owner' | 'package' | 'kind' | 'category' | 'thread' | 'diff';

export interface Palette {
  /** The fill of each bucket. */
  fills: string[];
  ink: string;
  /** Of what a search finds, and of the rest. */
  hit: string;
  miss: string;
  /** Of pixels whose boxes are too narrow to draw. */
  narrow: string;
}

/** All colours of boxes: the fills, and then of hits, of misses, and of narrow ones. */
export const coloursOf = (p: Palette): string[] => [...p.fills, p.hit, p.miss, p.narrow];

const hues = 24;
/** Buckets of a change from -1 to 1. */
export const diffSteps = 15;

/** The bucket of a function by its package or, without one, by its module. */
export const packageBucket = (f: Func): number => (hash(f.name.slice(0, f.pkg) || f.module || f.file || f.name) >>> 8) % hues;

const kinds: Record<string, number> = {
  java: 210,
  native: 20,
  cpp: 45,
  kernel: 350,
  vm: 280,
  stub: 60,
  go: 190,
  'go-runtime': 255,
  python: 225,
  js: 50,
  ruby: 0,
  dotnet: 265,
  php: 245,
  rust: 28,
  class: 120,
  label: 150,
  'js-label': 95,
};
export const kindNames = Object.keys(kinds);
/** The bucket of a function by its kind. */
export const kindBucket = (f: Func): number => kindNames.indexOf(f.kind) + 1;

/** Whose code a function is, with the hue and saturation of each; shades of a colour tell packages apart. */
export const owners: [name: string, hue: number, saturation: number][] = [
  ['your own code', 28, 88],
  ['libraries', 212, 52],
  ['runtime and kernel', 220, 7],
];
export const shades = 4;
/** The bucket of a function by whose code it is. */
export const ownerBucket = (f: Func): number => (f.own ? 0 : f.runtime ? 2 : 1) * shades + (packageBucket(f) % shades);

/** The buckets of the colourings that depend on the function alone. */
export const functionBucket: Partial<Record<Colouring, (f: Func) => number>> = { kind: kindBucket, owner: ownerBucket, package: packageBucket };

/** The bucket of a change, from -1 (vanished) to 1 (new); 0 is grey. */
export const diffBucket = (change: number): number => Math.round(Math.max(-1, Math.min(1, change)) * diffSteps) + diffSteps;

/** Of the classes of threads, in their order. */
const threadHues = [28, 275, 130, 195, 48];

/** Colours that Firefox Profiler gives to categories. */
const categories: Record<string, [hue: number, saturation: number]> = {
  grey: [220, 6],
  blue: [212, 70],
  green: [130, 45],
  red: [4, 65],
  orange: [28, 80],
  lightblue: [195, 65],
  purple: [275, 50],
  yellow: [48, 85],
  brown: [20, 35],
  magenta: [320, 55],
  lightgreen: [95, 50],
  lightred: [0, 75],
  darkgrey: [220, 10],
  transparent: [220, 4],
};

/** The fill of what became less on paper, which without colours looks like nothing else: a pattern of Sheet. */
const hatch = 'url(#hatch)';

/** How light the code of each owner is on paper, where colours may be missing. */
const paperLightness = [66, 85, 95];

export function palette(by: Colouring, dark: boolean, colours: readonly string[] = [], paper = false): Palette {
  const soft = (hue: number, saturation = 62, lighter = 0) =>
    dark ? `hsl(${hue} ${saturation * 0.55}% ${34 + lighter}%)` : `hsl(${hue} ${saturation}% ${83 + lighter}%)`;
  const none = dark ? '#343a42' : '#e4e6ea';
  let fills: string[];
  switch (by) {
    case 'package':
      fills = Array.from({ length: hues }, (_, i) => soft(i * (360 / hues)));
      break;
    case 'owner':
      if (paper) fills = owners.flatMap(([, hue, saturation], owner) => Array.from({ length: shades }, () => `hsl(${hue} ${saturation}% ${paperLightness[owner]}%)`));
      else fills = owners.flatMap(([, hue, saturation]) => Array.from({ length: shades }, (_, i) => soft(hue, saturation, (i - 1) * 3)));
      break;
    case 'thread':
      fills = [none, ...threadHues.map(h => soft(h))];
      break;
    case 'kind':
      fills = [none, ...kindNames.map(k => soft(kinds[k]!))];
      break;
    case 'category':
      fills = [none, ...colours.map(c => soft(...(categories[c] ?? [220, 6])))];
      break;
    case 'diff':
      fills = Array.from({ length: 2 * diffSteps + 1 }, (_, i) => diffColour((i - diffSteps) / diffSteps, dark));
      if (paper) fills = fills.map((fill, i) => (i < diffSteps ? hatch : fill));
  }
  return { fills, ink: dark ? '#eef0f2' : '#1a1d21', hit: dark ? '#b08600' : '#ffd54a', miss: dark ? '#262b31' : '#eef0f2', narrow: dark ? '#3d444d' : '#d3d7dd' };
}

/** Red for more, blue for less, grey for what is the same or within the noise. */
export function diffColour(change: number, dark: boolean): string {
  if (change === 0) return dark ? '#343a42' : '#e4e6ea';
  const strong = 0.15 + 0.85 * Math.abs(change);
  const hue = change > 0 ? (dark ? 6 : 8) : 212;
  return dark ? `hsl(${hue} ${30 + 30 * strong}% ${24 + 20 * strong}%)` : `hsl(${hue} ${change > 0 ? 78 : 72}% ${93 - 27 * strong}%)`;
}
