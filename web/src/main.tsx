// Renders the page of the address.
import { type ComponentType, render } from 'preact';
import { type PageName, place } from './core/url';
import { Shell } from './ui/Shell';
import './style.css';

/** Starts the app with these pages; other addresses show the first one. */
export function start(pages: Partial<Record<PageName, ComponentType>>): void {
  const first = Object.values(pages)[0]!;
  function App() {
    const Shown = pages[place.value.page] ?? first;
    return (
      <Shell>
        <Shown />
      </Shell>
    );
  }
  render(<App />, document.getElementById('root')!);
}
