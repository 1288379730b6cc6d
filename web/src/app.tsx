// The app of a server.
import { Http, setSource } from './core/source';
import { follow } from './core/url';
import { start } from './main';
import Diff from './pages/Diff';
import Home from './pages/Home';
import Profile from './pages/Profile';
import { later } from './ui/Later';

const search = () => import('./ui/Search');

setSource(new Http());
follow(false);
start(
  {
    home: Home,
    benchmarks: later(() => import('./pages/Benchmarks')),
    benchmark: later(() => import('./pages/Benchmark')),
    profile: Profile,
    diff: Diff,
    find: later(() => import('./pages/Find')),
    function: later(() => import('./pages/Function')),
    bottlenecks: later(() => import('./pages/Bottlenecks')),
    functions: later(() => import('./pages/Functions')),
    services: later(() => import('./pages/Services')),
    tasks: later(() => import('./pages/Tasks')),
    task: later(() => import('./pages/TaskDetail')),
    report: later(() => import('./pages/Report')),
    short: later(() => import('./pages/Short')),
  },
  later(search),
);
setTimeout(() => search().catch(() => {}), 1000); // so that the first letter that is typed is not lost
