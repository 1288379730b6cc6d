// What a report says of a benchmark, in the same words on every page.
import type { Outcome } from '../core/answers';
import { commit, percent, signed, visible } from '../core/format';
import { change } from '../core/metric';

export const tone = (o: Outcome | undefined): string => (o?.status === 'slower' ? 'more' : o?.status === 'faster' ? 'less' : 'dim');

/** "slower (1 open change)", "unchanged: would have seen 4%": what is known, and what it rests on. */
export const status = (o: Outcome): string => visible(o.says);

/** "+1.94 ms/op (+39%)": the size of the finding; empty without one. */
export function size(o: Outcome | undefined): string {
  if (!o?.finding) return '';
  const share = signed(o.share ?? 0, percent);
  return o.time ? `${change(o.time.value, o.time.unit)} (${share})` : share;
}

/** The outcome as a sentence: "slower by +1.94 ms/op (+39%) since run-028 at 0123456". */
export function OutcomeText({ o }: { o: Outcome }) {
  return (
    <>
      <b class={tone(o)}>{status(o)}</b>
      {o.finding && ` ${size(o)} in ${visible(o.title ?? '')}`}
      {o.since && ` since ${visible(o.since.run)}`}
      {o.since?.commit && (
        <>
          {' '}
          at <code>{commit(o.since.commit)}</code>
        </>
      )}
      {!!o.more && `, and ${o.more} more`}
      {o.tested !== undefined && (
        <small class="dim">{` ${o.tested} against ${o.baseRuns ?? 0} ${o.baseRuns === 1 ? 'run' : 'runs'}${o.branch ? ` of ${visible(o.branch)}` : ''}`}</small>
      )}
    </>
  );
}

/** Whether an outcome is of a comparison with another branch, not with the runs before. */
export const ofBranch = (o: Outcome): boolean => !!o.baseBranch && o.baseBranch !== o.branch;
