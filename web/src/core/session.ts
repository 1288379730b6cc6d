// What this browser may do on the server that served the page. The page exchanges the token
// for the id of a session, which the server forgets at logout.
import { signal } from '@preact/signals';
import { needsToken, sessionKey, source } from './source';

export interface Session {
  may: 'nothing' | 'read' | 'change';
  /** The server asks for tokens. */
  token: boolean;
  loggedIn: boolean;
  /** The id of the session, at login. */
  session?: string;
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

export async function logIn(token: string): Promise<void> {
  const answer = await source.value.send<Session>('POST', 'session', {}, { token });
  if (answer.session) localStorage.setItem(sessionKey, answer.session);
  session.value = answer;
  needsToken.value = false;
}

export async function logOut(): Promise<void> {
  await source.value.send('DELETE', 'session', {});
  localStorage.removeItem(sessionKey);
  await loadSession();
}
