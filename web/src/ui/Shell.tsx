// What is around every page: navigation, theme, help, login.
import type { ComponentChildren, ComponentType } from 'preact';
import { signal } from '@preact/signals';
import { useEffect, useState } from 'preact/hooks';
import { loadSession, logIn, logOut, mayChange, session } from '../core/session';
import { dark, nextTheme } from '../core/settings';
import { download, Embedded, hasSession, missing, needsToken, Problem, source } from '../core/source';
import { goTo, href, type PageName, place } from '../core/url';
import { save } from '../view/export';
import { helpShown, KeyHelp, press, searchShown, useKeys } from './Keys';
import { Said, Tip } from './Tip';

const sections: { title: string; page: PageName; also: PageName[] }[] = [
  { title: 'Changes', page: 'home', also: [] },
  { title: 'Benchmarks', page: 'benchmarks', also: ['benchmark', 'profile', 'diff', 'find', 'function', 'bottlenecks', 'functions'] },
  { title: 'Services', page: 'services', also: ['tasks', 'task'] },
];

function Links() {
  const s = source.value;
  if (s instanceof Embedded) {
    const here = place.value.page;
    return (
      <>
        {(s.data.nav ?? []).map(n => (
          <a key={n.address} href={`#${n.address}`} title={n.title} aria-current={n.address.startsWith(`/${here}`) ? 'page' : undefined}>
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

const failedDownload = signal('');

/** Downloads what a link of the API leads to: browsers do not send the session with links. */
async function fetchFile(address: string, name: string): Promise<void> {
  failedDownload.value = '';
  try {
    const file = await download(address);
    save(name || file.name, file.content.type, file.content);
  } catch (err) {
    failedDownload.value = err instanceof Problem ? `${err.title}. ${err.message}` : String(err);
  }
}

/** The frame; a report has no search. */
export function Shell({ children, search: Search }: { children: ComponentChildren; search?: ComponentType | undefined }) {
  useKeys([
    {
      keys: '/ Ctrl+k',
      help: 'search everything',
      run: e => !!Search && (e.key !== '/' || !document.querySelector('.workspace')) && ((searchShown.value = ''), true),
    },
    { keys: '?', help: 'this help', run: () => (helpShown.value = true) },
    { keys: 't', help: 'dark or light', run: nextTheme },
  ]);
  useEffect(() => {
    void loadSession();
    const click = (e: MouseEvent) => {
      const a = (e.target as Element).closest?.('a[href]') as HTMLAnchorElement | null;
      if (!a || e.button !== 0 || e.defaultPrevented) return;
      const to = a.getAttribute('href')!;
      if (!source.value.offline && to.startsWith('/api/') && hasSession()) {
        e.preventDefault();
        void fetchFile(to, a.getAttribute('download') ?? '');
        return;
      }
      if (e.ctrlKey || e.metaKey || e.shiftKey || a.target || a.hasAttribute('download')) return;
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
        {session.value?.token && !mayChange() && session.value.may === 'read' && <span class="pill dim">read only</span>}
        {session.value?.loggedIn && session.value.may !== 'nothing' && (
          <button type="button" onClick={() => void logOut()}>
            Log out
          </button>
        )}
        {Search && (
          <button type="button" class="searchbutton" onClick={() => (searchShown.value = '')} title="search (/, Ctrl+K)">
            Search <kbd>/</kbd>
          </button>
        )}
        <button type="button" class="theme" onClick={nextTheme} title="dark or light (t)">
          {dark.value ? 'Light' : 'Dark'}
        </button>
        <button type="button" class="keys" onClick={() => (helpShown.value = true)} aria-label="Keyboard help" title="keyboard (?)">
          ?
        </button>
      </header>
      <main id="main" tabIndex={-1}>
        {failedDownload.value && <p role="alert">{failedDownload.value}</p>}
        {missing.value && <p role="status">{`Not everything is here: ${missing.value}`}</p>}
        {needsToken.value ? <Login /> : children}
      </main>
      <Tip />
      <Said />
      <KeyHelp />
      {Search && searchShown.value !== false && <Search />}
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
          await logIn(text);
        } catch (err) {
          setWrong(err instanceof Error ? `${err instanceof Problem ? `${err.title}. ` : ''}${err.message}` : String(err));
        }
      }}
    >
      <h1>This server needs a token</h1>
      <p>The page exchanges it for a session, which ends after 12 hours or when you log out. The browser does not keep the token.</p>
      {wrong && (
        <p role="alert" class="more">
          {wrong}
        </p>
      )}
      <label>
        Token <input ref={e => e?.focus()} type="password" autocomplete="off" value={text} onInput={e => set(e.currentTarget.value)} />
      </label>{' '}
      <button type="submit" class="primary">
        Log in
      </button>
    </form>
  );
}
