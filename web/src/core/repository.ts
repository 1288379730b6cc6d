// Where a repository is on the web: runs say the address that git or a pipeline has for it.

/** The page of a repository on GitHub or GitLab, of an address as git remote has it; empty: unknown. */
export function webOf(repository: string): string {
  const url = /^(?:https?|ssh|git):\/\/(?:[^/@]*@)?([\w.-]+)(?::\d+)?\/(.+)$/.exec(repository) ?? /^(?:[\w.-]+@)?([\w.-]+):([^/].*)$/.exec(repository);
  const [, host = '', path = ''] = url ?? [];
  if (!/github|gitlab/.test(host)) return '';
  const clean = path.replace(/\/+$/, '').replace(/\.git$/, '');
  return clean ? `https://${host}/${clean.split('/').map(encodeURIComponent).join('/')}` : '';
}

/** The page of a commit; empty: unknown. */
export function commitPage(repository: string | undefined, commit: string | undefined): string {
  const web = webOf(repository ?? '');
  if (!web || !/^[0-9a-f]{7,64}$/.test(commit ?? '')) return '';
  return `${web}${/gitlab/.test(web.split('/')[2]!) ? '/-' : ''}/commit/${commit}`;
}
