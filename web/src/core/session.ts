// What this browser may do on the server that served the page. The token itself is in a
// cookie that scripts cannot read.
import { signal } from '@preact/signals';
import { needsToken, source } from './source';

export interface Session {
  may: 'nothing' | 'read' | 'change';
  /** The server asks for tokens. */
  token: boolean;
  loggedIn: boolean;
  version?: string;
  /** Sizes of requests in bytes. */
  limits?: { body: number; upload: number };
}

/** Undefined until the server has answered, and in a report. */
export const session = signal<Session | undefined>(undefined);

export async function loadSession(): Promise<void> {
  if (source.value.offline) return;
  try {
    session.value = await source.value.get<Session>('session');
    needsToken.value = session.value.may === 'nothing';
  } catch {
    // the requests of the page say what is wrong
  }
}

/** Hides what a token for reading does not allow. */
export const mayChange = (): boolean => session.value?.may === 'change';

export async function logOut(): Promise<void> {
  await source.value.send('DELETE', 'session', {});
  await loadSession();
}
