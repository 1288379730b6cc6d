// What became slower, most expensive first, with the evidence.
import type { ReportDocument } from '../core/answers';
import { source } from '../core/source';
import { href, place, update } from '../core/url';
import { useKeys } from '../ui/Keys';
import { Page } from '../ui/Page';
import { Pickers, useScope } from '../ui/Pickers';
import { ChangesOf, selection, useChanges } from '../ui/WhatChanged';
import '../pages.css';

export default function Regressions() {
  const scope = useScope(selection, true);
  const answer = useChanges(scope);
  const file = (format: string) => {
    const q = new URLSearchParams(scope.params);
    q.set('format', format);
    return source.value.file('report', q);
  };
  useKeys([{ keys: '/', help: 'search', run: () => document.getElementById('search')?.focus() }]);
  return (
    <Page
      title="Regressions"
      sub={answer.value && headline(answer.value)}
      actions={
        <>
          <input
            id="search"
            type="search"
            placeholder="Search functions and benchmarks  /"
            aria-label="Search functions and benchmarks"
            value={place.value.params.get('q') ?? ''}
            onInput={e => update({ q: e.currentTarget.value })}
          />
          <a class="button" href={file('html')} download="report.html">
            Report as a file
          </a>
          <a class="button" href={file('md')} download="report.md">
            Markdown
          </a>
        </>
      }
    >
      <Pickers scope={scope} show={['branch', 'group', 'type', 'machine', 'since']} sides also={{ change: null }} />
      {answer.value && !answer.value.counts?.length ? (
        <div class="empty">
          <p>Nothing to compare yet.</p>
          <p>
            A comparison needs at least two runs of a benchmark: <code>dendro import --run NAME --benchmark NAME profile.pb.gz</code>, or drop
            profiles on the <a href={href('home')}>home page</a>.
          </p>
        </div>
      ) : (
        <ChangesOf report={answer} scope={scope} />
      )}
    </Page>
  );
}

const headline = (doc: ReportDocument): string => doc.headline.charAt(0).toUpperCase() + doc.headline.slice(1);
