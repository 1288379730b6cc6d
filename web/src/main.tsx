// Renders the page of the address.
import { Component, type ComponentChildren, type ComponentType, render } from 'preact';
import { format, href, type PageName, place } from './core/url';
import { Failure } from './ui/Load';
import { Page } from './ui/Page';
import { Shell } from './ui/Shell';
import './style.css';

/** Shows an error of a page in its place, so that the navigation still works. */
class Boundary extends Component<{ children: ComponentChildren; address: string }, { error?: Error | undefined }> {
  override componentDidCatch(error: Error): void {
    this.setState({ error });
  }
  override componentDidUpdate(before: { address: string }): void {
    if (this.state.error && before.address !== this.props.address) this.setState({ error: undefined });
  }
  override render() {
    const { error } = this.state;
    return error ? <Failure error={error} what="this page" retry={() => location.reload()} /> : this.props.children;
  }
}

const Missing = () => (
  <Page title="There is no such page">
    <p>
      The address may be mistyped, or of an older version. <a href={href('home')}>Changes</a> and <a href={href('benchmarks')}>Benchmarks</a> list what this store holds.
    </p>
  </Page>
);

/** Starts the app with these pages; without an address it shows the first one. */
export function start(pages: Partial<Record<PageName, ComponentType>>, search?: ComponentType): void {
  const first = Object.values(pages)[0]!;
  function App() {
    const { page } = place.value;
    const Shown = pages[page] ?? (page === 'home' ? first : Missing);
    return (
      <Shell search={search}>
        <Boundary address={format(place.value)}>
          <Shown />
        </Boundary>
      </Shell>
    );
  }
  render(<App />, document.getElementById('root')!);
}
