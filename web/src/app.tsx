// The app of a server.
import { follow } from './core/url';
import { start } from './main';
import Diff from './pages/Diff';
import Find from './pages/Find';
import Home from './pages/Home';
import Profile from './pages/Profile';
import { later } from './ui/Later';

follow(false);
start({
  home: Home,
  benchmark: later(() => import('./pages/Benchmark')),
  profile: Profile,
  diff: Diff,
  find: Find,
  function: later(() => import('./pages/Function')),
  bottlenecks: later(() => import('./pages/Bottlenecks')),
  services: later(() => import('./pages/Services')),
  tasks: later(() => import('./pages/Tasks')),
  task: later(() => import('./pages/TaskDetail')),
  report: later(() => import('./pages/Report')),
  short: later(() => import('./pages/Short')),
});
