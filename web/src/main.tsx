// Renders the page of the address.
import { type ComponentType, render } from 'preact';
import { type PageName, place } from './core/url';
import Benchmark from './pages/Benchmark';
import Diff from './pages/Diff';
import Function from './pages/Function';
import Home from './pages/Home';
import Profile from './pages/Profile';
import Regressions from './pages/Regressions';
import Report from './pages/Report';
import TaskDetail from './pages/TaskDetail';
import Tasks from './pages/Tasks';
import { Shell } from './ui/Shell';
import './style.css';

const pages: Record<PageName, ComponentType> = {
  home: Home,
  benchmark: Benchmark,
  profile: Profile,
  diff: Diff,
  function: Function,
  regressions: Regressions,
  tasks: Tasks,
  task: TaskDetail,
  report: Report,
};

function App() {
  const Shown = pages[place.value.page];
  return (
    <Shell>
      <Shown />
    </Shell>
  );
}

export function start(): void {
  render(<App />, document.getElementById('root')!);
}
