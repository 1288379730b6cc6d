// Where answers come from: the API of a server, or the data inside a report. Pages ask
// both in the same way.
import { type ReadonlySignal, signal } from '@preact/signals';
import { requestOf } from './files';
import { isPushed } from './pushed';

export type Params = URLSearchParams | Record<string, string | number | boolean | readonly string[] | null | undefined>;

/** A detail that begins with its title goes on from there: nothing is said twice. */
export function withoutTitle(detail: string, title: string): string {
  const at = title ? detail.toLowerCase().indexOf(title.toLowerCase()) : -1;
  if (at < 0 || (at > 0 && detail.slice(at - 2, at) !== ': ')) return detail; // "task t: there is no such task; …" too
  return detail.slice(0, at) + detail.slice(at + title.length).replace(/^[:.,;\s]+/, '');
}

/** An error to show: what failed, why, and whether to try again makes sense. */
export class Problem extends Error {
  constructor(
    readonly title: string,
    detail: string,
    readonly status = 0,
    readonly type = '',
    readonly more: Record<string, unknown> = {},
  ) {
    super(withoutTitle(detail, title));
  }
}

export interface Options {
  signal?: AbortSignal;
  /** The answer is text: lines of JSON. */
  text?: boolean;
  /** What was read of the answer before, and its tag, of what is asked for again: while it is the same, it is not sent. */
  last?: { tag?: string; value?: unknown };
  /** Called with the number of bytes read so far. */
  progress?: (bytes: number) => void;
}

export interface Source {
  /** The data is inside the page: nothing can be asked for or changed. */
  readonly offline: boolean;
  /** Answers GET /api/v1/{path}. */
  get<T>(path: string, params?: Params, options?: Options): Promise<T>;
  /** Sends POST, or another method, with a JSON body or a form. */
  send<T>(method: string, path: string, params: Params, body?: unknown, options?: Options): Promise<T>;
  /** The address of a file to download; empty if there is none. */
  file(path: string, params: Params): string;
  /** Fetches a file that the server writes of files that are kept. */
  written?(params: Params): Promise<Blob>;
  /** Whether there is a stack chart of a tree or diff. */
  hasChart(path: 'tree' | 'diff'): boolean;
}

/** Returns parameters as a query, lists repeated. */
export function queryOf(params: Params): URLSearchParams {
  if (params instanceof URLSearchParams) return params;
  const q = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    if (Array.isArray(value)) for (const v of value) q.append(name, v);
    else if (value !== null && value !== undefined && value !== '' && value !== false) q.set(name, String(value));
  }
  return q;
}

const base = '/api/v1/';

/** Where the id of the session is: storage that only pages of this address and port can read. */
export const sessionKey = 'dendro-session';

/** Adds the session to the headers of a request. */
function withSession(headers: Record<string, string> = {}): Record<string, string> {
  const id = globalThis.localStorage?.getItem(sessionKey);
  return id ? { ...headers, Authorization: `Bearer ${id}` } : headers;
}

/** Reports whether requests need the session: then a link cannot download a file. */
export const hasSession = (): boolean => localStorage.getItem(sessionKey) !== null;

/** Fetches the file at an address of the API, with its name. */
export async function download(address: string): Promise<{ name: string; content: Blob }> {
  const response = await fetch(address, { headers: withSession() });
  if (!response.ok) {
    if (response.status === 401) expired();
    throw problemOf(response, await response.text());
  }
  const name = /filename="?([^";]+)"?/.exec(response.headers.get('Content-Disposition') ?? '')?.[1];
  return { name: name ?? 'dendro', content: await response.blob() };
}

/** Asks for the token again; the session, if there was one, has ended. */
function expired(): void {
  localStorage.removeItem(sessionKey);
  needsToken.value = true;
}

const retries = [300, 1200]; // ms before the next attempt

/** The API of the server that served the page. */
export class Http implements Source {
  readonly offline = false;

  async get<T>(path: string, params: Params = {}, options: Options = {}): Promise<T> {
    const asked = queryOf(params);
    const kept = requestOf(path, asked);
    if (kept) {
      if (path === 'runs') return { rows: [] } as T; // they are of none
      if (!kept.body)
        throw new Problem(
          'The file is no longer here',
          `Files that are only shown stay until the page is reloaded. Drop ${kept.names.join(' and ')} on the page again.`,
        );
      return this.ask<T>('POST', kept.path, kept.params, kept.body, options);
    }
    if (path === 'runs' && isPushed(asked)) return { rows: [] } as T; // pushed profiles are of none
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.ask<T>('GET', path, params, undefined, options);
      } catch (err) {
        const wait = retries[attempt];
        if (!(err instanceof Problem) || wait === undefined || ![0, 502, 503, 504].includes(err.status)) throw err;
        await pause(wait, options.signal);
      }
    }
  }

  send<T>(method: string, path: string, params: Params, body?: unknown, options: Options = {}): Promise<T> {
    return this.ask<T>(method, path, params, body, options);
  }

  file(path: string, params: Params): string {
    return `${base}${path}?${queryOf(params)}`;
  }

  hasChart(): boolean {
    return true;
  }

  async written(params: Params): Promise<Blob> {
    const kept = requestOf('', queryOf(params));
    if (!kept?.body) throw new Problem('The file is no longer here', 'Drop it on the page again.');
    const response = await fetch(`${base}${kept.path}?${kept.params}`, { method: 'POST', body: kept.body, headers: withSession() });
    if (!response.ok) throw problemOf(response, await response.text());
    return response.blob();
  }

  private async ask<T>(method: string, path: string, params: Params, body: unknown, options: Options): Promise<T> {
    const query = queryOf(params).toString();
    const { last } = options;
    const init: RequestInit = { method, headers: withSession({ Accept: 'application/json', ...(last?.tag && last.value !== undefined && { 'If-None-Match': last.tag }) }) };
    if (options.signal) init.signal = options.signal;
    if (body instanceof FormData || body instanceof Blob) init.body = body;
    else if (body !== undefined) {
      init.body = JSON.stringify(body);
      init.headers = { ...init.headers, 'Content-Type': 'application/json' };
    }
    let response: Response;
    let text: string;
    try {
      response = await fetch(base + path + (query ? `?${query}` : ''), init);
      missing.value = response.headers.get('Dendro-Missing') ?? '';
      text = await read(response, options.progress);
    } catch (err) {
      if (options.signal?.aborted) throw err;
      throw new Problem('The server does not answer', `${method} ${base}${path}: ${err instanceof Error ? err.message : err}`);
    }
    if (last) last.tag = response.headers.get('ETag') ?? '';
    if (last && response.status === 304) return last.value as T;
    if (response.ok) return options.text ? (text as T) : parseJSON<T>(text, path);
    if (response.status === 401) expired();
    throw problemOf(response, text);
  }
}

/** What the last answer lacks, in the words of the server; empty: nothing. */
export const missing = signal('');

/** The server refused the last request for want of a token. */
export const needsToken = signal(false);

async function read(response: Response, progress?: (bytes: number) => void): Promise<string> {
  if (!progress || !response.body) return response.text();
  const decoder = new TextDecoder();
  const parts: string[] = [];
  let bytes = 0;
  for (const reader = response.body.getReader(); ; ) {
    const { done, value } = await reader.read();
    if (done) break;
    parts.push(decoder.decode(value, { stream: true }));
    progress((bytes += value.length));
  }
  return parts.join('') + decoder.decode();
}

function parseJSON<T>(text: string, path: string): T {
  try {
    return (text === '' ? undefined : JSON.parse(text)) as T;
  } catch {
    throw new Problem(
      'The answer is incomplete',
      `${base}${path}: the server stopped after ${text.length} characters, or did not send JSON`,
    );
  }
}

function problemOf(response: Response, text: string): Problem {
  try {
    const { type = '', title, detail = '', status, ...more } = JSON.parse(text) as Record<string, unknown>;
    if (typeof title === 'string') return new Problem(title, String(detail), Number(status ?? response.status), String(type), more);
  } catch {
    // not a problem document
  }
  return new Problem(`The server answered ${response.status}`, text.slice(0, 300) || response.statusText, response.status);
}

/** Waits, until the signal ends it. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal?.addEventListener('abort', () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
}

/** The data of a report, as Go writes it. */
export interface Embedment {
  version: number;
  title: string;
  /** The address that is shown first, as "/diff?view=flame". */
  start: string;
  /** The links of the navigation, in order. */
  nav?: { title: string; address: string }[];
  answers: Answer[];
}

/** An answer of the API: for every request of its path that has the parameters of its query. */
export interface Answer {
  path: string;
  query?: string;
  body: unknown;
}

/** The data inside a report page. */
export class Embedded implements Source {
  readonly offline = true;
  constructor(readonly data: Embedment) {}

  private find(path: string, asked: URLSearchParams): Answer | undefined {
    return this.data.answers.find(a => a.path === path && covers(new URLSearchParams(a.query ?? ''), asked));
  }

  /** Reports whether a request has an answer here. */
  has(path: string, params: Params): boolean {
    return this.find(path, queryOf(params)) !== undefined;
  }

  async get<T>(path: string, params: Params = {}): Promise<T> {
    const found = this.find(path, queryOf(params));
    if (!found)
      throw new Problem(
        'Not in this report',
        'This report has the data of its own views only. Open the page on the server for others.',
        404,
      );
    return found.body as T;
  }

  async send<T>(): Promise<T> {
    throw new Problem('Not in a report', 'A report cannot change anything. Open the page on the server.', 501);
  }

  file(): string {
    return '';
  }

  hasChart(path: string): boolean {
    return this.data.answers.some(a => a.path === path && new URLSearchParams(a.query ?? '').get('view') === 'stack-chart');
  }
}

function covers(of: URLSearchParams, asked: URLSearchParams): boolean {
  for (const name of new Set(of.keys())) {
    if (of.getAll(name).join('\n') !== asked.getAll(name).join('\n')) return false;
  }
  return true;
}

/** The bytes of a text in base 64. */
export function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = letters.charCodeAt(i);
  return bytes;
}

/** Reads the element #dendro-data: JSON, packed with gzip, in base 64. */
export async function embedded(text: string): Promise<Embedment> {
  const stream = new Blob([bytesOf(text.trim())]).stream().pipeThrough(new DecompressionStream('gzip'));
  return (await new Response(stream).json()) as Embedment;
}

const current = signal<Source>(undefined!); // a report has no code of the other
/** The source of this page; it is set before the page starts. */
export const source: ReadonlySignal<Source> = current;
export function setSource(s: Source): void {
  current.value = s;
}
