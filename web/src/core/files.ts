// Files that were dropped on the page. They stay in its memory, and the server shows views
// of them without storing them: a request with the parameter `file` is sent with the file.
const files = new Map<string, Blob>();

/** Keeps a file; the result is the name to ask for it. */
export function keepFile(file: File): string {
  files.set(file.name, file);
  return file.name;
}

/** The file of a name; undefined after the page was reloaded. */
export function keptFile(name: string): Blob | undefined {
  return files.get(name);
}

const views: Record<string, string> = { functions: 'functions', flame: 'flame' };

/** The parameters of /view for a request about a file. */
export function viewOf(path: string, params: URLSearchParams): URLSearchParams {
  const p = new URLSearchParams(params);
  p.set('name', p.get('file') ?? '');
  p.delete('file');
  const view = views[path];
  if (view && !p.has('view')) p.set('view', view);
  return p;
}
