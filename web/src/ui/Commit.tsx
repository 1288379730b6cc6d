// A commit: a link to its page where the address of the repository is known.
import type { Run } from '../core/answers';
import { commit } from '../core/format';
import { commitPage } from '../core/repository';

export function Commit({ of }: { of: Pick<Run, 'commit' | 'repository'> }) {
  const page = commitPage(of.repository, of.commit);
  const text = <code>{commit(of.commit ?? '')}</code>;
  return page ? (
    <a href={page} target="_blank" rel="noreferrer" title={page}>
      {text}
    </a>
  ) : (
    text
  );
}
