// A commit: a link to its page where the address of the repository is known.
import type { Run } from '../core/answers';
import { commit } from '../core/format';
import { commitPage } from '../core/repository';
import { Outside } from './Outside';

export function Commit({ of }: { of: Pick<Run, 'commit' | 'repository'> }) {
  const page = commitPage(of.repository, of.commit);
  return (
    <Outside to={page} title={page}>
      <code>{commit(of.commit ?? '')}</code>
    </Outside>
  );
}
