import { expect, test } from 'vitest';
import { percent, relative, rounded } from '../src/core/format';
import { severalThreads, threadClasses, threadsOf } from '../src/core/threads';
import { decode, random } from './random';

const f = (name: string, runtime = false) => ({ function: name, file: '', module: '', language: '', kind: '', runtime });

test('call nodes have the class of their threads, until code begins', () => {
  const t = decode({
    profiles: 1,
    type: 'cpu',
    unit: 'count',
    columns: {
      //       clone3 Compile* mallocgc main systemstack gcBg
      parent: [-1, 0, 1, 0, -1, 4, 5],
      function: [0, 1, 2, 3, 4, 5, 6],
      self: [0, 0, 2, 3, 0, 0, 4],
      functions: [f('clone3', true), f('CompileBroker::compiler_thread_loop', true), f('Parse', true), f('G1ServiceThread::run', true), f('main'), f('runtime.systemstack', true), f('runtime.gcBgMarkWorker', true)],
    },
  });
  const names = [...threadsOf(t)].map(c => threadClasses[c] ?? 'several');
  expect(names).toEqual(['several', 'compiler', 'compiler', 'garbage collector', 'application', 'application', 'application']);
});

test('whether there are several classes follows from where threads begin', () => {
  const functions = [f('clone3', true), f('C2 CompilerThread0'), f('runtime.mcall', true), f('start', true), f('main'), f('G1 Service', true)];
  const seen = [0, 0];
  for (let seed = 0; seed < 300; seed++) {
    const r = random(seed);
    const n = 1 + r(8);
    const parent = Array.from({ length: n }, (_, i) => r(i + 1) - 1);
    const t = decode({ profiles: 1, type: 'cpu', unit: 'count', columns: { parent, function: parent.map(() => r(3 + r(4))), self: parent.map(() => 1), functions } });
    expect(severalThreads(t)).toBe(new Set(threadsOf(t)).size > 1);
    seen[Number(severalThreads(t))]!++;
  }
  expect(Math.min(...seen)).toBeGreaterThan(30);
});

test('digits are what the noise allows', () => {
  expect([rounded(618, 30), rounded(2.27, 5), rounded(0.4, 5), rounded(618, 0), rounded(-585, 3000)]).toEqual([620, 2, 0, 618, -1000]);
  expect([relative(180, 618), relative(180, 618, 20), relative(180, 190, 20), relative(180, 180.9, 0.5)]).toEqual(['+243.3%', '+243%', '+6%', '+0.50%']);
  expect([percent(0.1234), percent(0.1234, 0.05), percent(0.0053), percent(0.0053, 0.005)]).toEqual(['12.3%', '12%', '0.53%', '0.5%']);
});
