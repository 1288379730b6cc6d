// What is around every page: navigation, theme, help, login.
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { loadSession, logOut, mayChange, type Session, session } from '../core/session';
import { dark, nextTheme } from '../core/settings';
import { Embedded, needsToken, Problem, source } from '../core/source';
import { goTo, href, type PageName, place } from '../core/url';
import { helpShown, KeyHelp, press, useKeys } from './Keys';
import { Tip } from './Tip';

const sections: { title: string; page: PageName; also: PageName[] }[] = [
  { title: 'Home', page: 'home', also: ['benchmark', 'function'] },
  { title: 'Profiles', page: 'profile', also: [] },
  { title: 'Diff', page: 'diff', also: [] },
  { title: 'Bottlenecks', page: 'bottlenecks', also: [] },
  { title: 'Regressions', page: 'regressions', also: [] },
  { title: 'Tasks', page: 'tasks', also: ['task'] },
];

function Links() {
  const s = source.value;
  if (s instanceof Embedded) {
    const here = place.value.page;
    return (
      <>
        {(s.data.nav ?? []).map(n => (
          <a key={n.address} href={`#${n.address}`} aria-current={n.address.startsWith(`/${here}`) ? 'page' : undefined}>
            {n.title}
          </a>
        ))}
      </>
    );
  }
  return (
    <>
      {sections.map(x => (
        <a
          key={x.page}
          href={href(x.page)}
          aria-current={x.page === place.value.page || x.also.includes(place.value.page) ? 'page' : undefined}
        >
          {x.title}
        </a>
      ))}
    </>
  );
}

export function Shell({ children }: { children: ComponentChildren }) {
  useKeys([
    { keys: '?', help: 'this help', run: () => (helpShown.value = true) },
    { keys: 't', help: 'dark or light', run: nextTheme },
  ]);
  useEffect(() => {
    void loadSession();
    const click = (e: MouseEvent) => {
      const a = (e.target as Element).closest?.('a[href]') as HTMLAnchorElement | null;
      if (!a || e.button !== 0 || e.ctrlKey || e.metaKey || e.shiftKey || e.defaultPrevented || a.target || a.hasAttribute('download'))
        return;
      const to = a.getAttribute('href')!;
      if (source.value.offline ? !to.startsWith('#/') : !to.startsWith('/') || to.startsWith('/api/')) return;
      e.preventDefault();
      goTo(to);
    };
    document.addEventListener('click', click);
    document.addEventListener('keydown', press);
    return () => {
      document.removeEventListener('click', click);
      document.removeEventListener('keydown', press);
    };
  }, []);
  return (
    <>
      <a class="skip" href="#main" onClick={e => (e.preventDefault(), document.getElementById('main')?.focus())}>
        Skip to content
      </a>
      <header class="top">
        <a class="brand" href={href('home')}>
          <svg viewBox="0 0 16 16" aria-hidden="true">
            <rect x="1" y="2" width="14" height="3.4" rx="1" />
            <rect x="1" y="6.4" width="9" height="3.4" rx="1" />
            <rect x="1" y="10.8" width="5" height="3.4" rx="1" />
          </svg>
          Dendro
        </a>
        <nav aria-label="Sections">
          <Links />
        </nav>
        <span class="space" />
        {session.value?.token && !mayChange() && session.value.may === 'read' && <span class="readonly">read only</span>}
        {session.value?.loggedIn && session.value.may !== 'nothing' && (
          <button type="button" onClick={() => void logOut()}>
            Log out
          </button>
        )}
        <button type="button" onClick={nextTheme} title="dark or light (t)">
          {dark.value ? 'Light' : 'Dark'}
        </button>
        <button type="button" onClick={() => (helpShown.value = true)} aria-label="Keyboard help" title="keyboard (?)">
          ?
        </button>
      </header>
      <main id="main" tabIndex={-1}>
        {needsToken.value ? <Login /> : children}
      </main>
      <Tip />
      <KeyHelp />
    </>
  );
}

function Login() {
  const [text, set] = useState('');
  const [wrong, setWrong] = useState('');
  return (
    <form
      class="failure"
      onSubmit={async e => {
        e.preventDefault();
        try {
          session.value = await source.value.send<Session>('POST', 'session', {}, { token: text });
          needsToken.value = false;
        } catch (err) {
          setWrong(err instanceof Error ? `${err instanceof Problem ? `${err.title}. ` : ''}${err.message}` : String(err));
        }
      }}
    >
      <h1>This server needs a token</h1>
      <p>The browser keeps it in a cookie until it is closed. Scripts cannot read the cookie, and no other site gets it.</p>
      {wrong && <p role="alert">{wrong}</p>}
      <label>
        Token <input type="password" autocomplete="off" value={text} onInput={e => set(e.currentTarget.value)} />
      </label>{' '}
      <button type="submit">Log in</button>
    </form>
  );
}
