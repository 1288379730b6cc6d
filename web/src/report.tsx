// The offline report: the pages that show what a report holds.
import { Embedded, embedded, setSource } from './core/source';
import { follow } from './core/url';
import { start } from './main';
import Bottlenecks from './pages/Bottlenecks';
import Diff from './pages/Diff';
import Profile from './pages/Profile';
import Report from './pages/Report';

const element = document.getElementById('dendro-data');
const root = document.getElementById('root')!;
if (!element) root.textContent = 'This is the empty page of a report: it has no data.';
else
  embedded(element.textContent).then(
    data => {
      setSource(new Embedded(data));
      follow(true, data.start);
      start({ report: Report, profile: Profile, diff: Diff, bottlenecks: Bottlenecks });
    },
    err => {
      root.textContent = `The data of this report cannot be read: ${err}`;
    },
  );
