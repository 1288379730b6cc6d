// The app of a server.
import { follow } from './core/url';
import { start } from './main';
import Benchmark from './pages/Benchmark';
import Bottlenecks from './pages/Bottlenecks';
import Diff from './pages/Diff';
import Function from './pages/Function';
import Home from './pages/Home';
import Profile from './pages/Profile';
import Regressions from './pages/Regressions';
import Report from './pages/Report';
import Services from './pages/Services';
import TaskDetail from './pages/TaskDetail';
import Tasks from './pages/Tasks';

follow(false);
start({
  home: Home,
  benchmark: Benchmark,
  profile: Profile,
  diff: Diff,
  function: Function,
  bottlenecks: Bottlenecks,
  regressions: Regressions,
  services: Services,
  tasks: Tasks,
  task: TaskDetail,
  report: Report,
});
