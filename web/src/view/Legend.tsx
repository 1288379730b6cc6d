// What colours mean: one line for every way to colour.
import { createContext } from 'preact';
import { useMemo } from 'preact/hooks';
import { visible } from '../core/format';
import type { Tree } from '../core/profile';
import { dark, paper } from '../core/settings';
import { threadClasses, threadsOf } from '../core/threads';
import { type Colouring, kindBucket, kindNames, ownerBucket, owners, palette, shades } from '../flame/palette';

/** The colouring of the workspace, for views that its page draws. */
export const Shown = createContext<Colouring>('package');

/** The colours that occur, each with its name. */
export function Legend({ t, colouring }: { t: Tree; colouring: Colouring }) {
  const { category, categories, functions } = t.table;
  const names = useMemo((): [name: string, bucket: number][] => {
    const used = (list: Iterable<number>) => new Set(list);
    switch (colouring) {
      case 'category': {
        const all = used(category ?? []);
        return categories.flatMap((c, i) => (all.has(i) ? [[c.name, i + 1]] : []));
      }
      case 'owner': {
        const all = used(functions.map(f => Math.floor(ownerBucket(f) / shades)));
        const jdk = functions.some(f => f.kind === 'java' && !f.own && /^(java|javax|jdk|sun)\./.test(f.name));
        return owners.flatMap(([name], i) => (all.has(i) ? [[jdk && name === 'libraries' ? 'JDK and libraries' : name, i * shades + 1]] : []));
      }
      case 'kind': {
        const all = used(functions.map(kindBucket));
        return kindNames.flatMap((name, i) => (all.has(i + 1) ? [[name, i + 1]] : []));
      }
      case 'thread': {
        const all = used(threadsOf(t));
        return [...threadClasses, 'several'].flatMap((name, i): [string, number][] => (all.has(i) ? [[name, i + 1]] : all.has(-1) && name === 'several' ? [[name, 0]] : []));
      }
    }
    return [];
  }, [t, colouring]);
  const { fills } = palette(
    colouring,
    dark.value,
    categories.map(c => c.color),
    paper.value,
  );
  if (names.length === 0) return null;
  return (
    <p class="legend">
      {names.map(([name, bucket]) => (
        <span key={name}>
          <i class="same" style={{ background: fills[bucket] }} /> {visible(name)}
        </span>
      ))}
    </p>
  );
}
