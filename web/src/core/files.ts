// Files that were dropped on the page. They stay in its memory, and the server shows views
// of them without storing them: a request with the parameter `file` is sent with the file.
const files = new Map<string, File>();

/** Keeps a file; the result is the name to ask for it: a newer file of the same name has another one. */
export function keepFile(file: File): string {
  let name = file.name;
  for (let k = 2, f = files.get(name); f && (f.size !== file.size || f.lastModified !== file.lastModified); f = files.get(name)) name = `${k++} ${file.name}`;
  files.set(name, file);
  return name;
}

/** The file of a name; undefined after the page was reloaded. */
export function keptFile(name: string): File | undefined {
  return files.get(name);
}

/** A request about files that are kept: what to send, and where to. */
export interface FileRequest {
  path: 'view' | 'view/lines' | 'view/diff';
  params: URLSearchParams;
  /** The file, or those of the sides in a form; undefined: one is no longer here. */
  body: Blob | FormData | undefined;
  /** The names of the files. */
  names: string[];
}

/** The request for files, if the parameters name some: file, or base-file and head-file. A side without one is of the store. */
export function requestOf(path: string, params: URLSearchParams): FileRequest | null {
  const p = new URLSearchParams(params);
  const name = p.get('file');
  if (name !== null) {
    p.set('name', name);
    p.delete('file');
    return { path: path === 'lines' ? 'view/lines' : 'view', params: p, body: keptFile(name), names: [name] };
  }
  const form = new FormData();
  const names: string[] = [];
  let whole = true;
  for (const side of ['base', 'head'] as const) {
    const of = p.get(`${side}-file`);
    if (of === null) continue;
    p.delete(`${side}-file`);
    names.push(of);
    const file = keptFile(of);
    if (file) form.append(side, file, of);
    else whole = false;
  }
  return names.length > 0 ? { path: 'view/diff', params: p, body: whole ? form : undefined, names } : null;
}
