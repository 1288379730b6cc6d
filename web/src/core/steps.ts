// Long computations in steps, so that a page with a million nodes answers to keys and clicks: a
// generator yields where it may pause, at the latest after some milliseconds.

export type Steps<T> = Generator<undefined, T, undefined>;

/** Nodes of a tree from which on steps are worth while. */
export const large = 20_000;

const budget = 10; // ms between two pauses

/** Computes without a pause. */
export function atOnce<T>(steps: Steps<T>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

/** Computes, and lets the page do what waits in between; it ends early when the signal says so. */
export async function inSteps<T>(steps: Steps<T>, signal?: AbortSignal): Promise<T> {
  for (let begin = performance.now(); ; ) {
    const { done, value } = steps.next();
    if (done) return value;
    if (performance.now() - begin < budget) continue;
    await turn();
    signal?.throwIfAborted();
    begin = performance.now();
  }
}

/** Waits until the page has done what waited; a timer would wait for at least 4 ms. */
const turn = (): Promise<void> =>
  new Promise(done => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      done();
    };
    port2.postMessage(0);
  });
