// Other viewers that npm has, served as their packages are: what Dendro's page is measured against.
import { createServer, type Server } from 'node:http';
import { existsSync, readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { extname, join, resolve } from 'node:path';

const modules = resolve(import.meta.dirname, '../node_modules');
const types: Record<string, string> = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.wasm': 'application/wasm' };

/** Serves files of a folder and pages of a text; close it when the tests are over. */
function serve(folder: string, pages: Record<string, string> = {}): Promise<Served> {
  const server = createServer((request, response) => {
    const path = new URL(request.url!, 'http://x').pathname;
    const name = path === '/' ? '/index.html' : path;
    const file = join(folder, name);
    const content = pages[name] ?? (existsSync(file) ? readFileSync(file) : null);
    response.writeHead(content === null ? 404 : 200, { 'Content-Type': types[extname(name)] ?? 'application/octet-stream' });
    response.end(content ?? '');
  });
  return new Promise(done => server.listen(0, '127.0.0.1', () => done({ server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` })));
}

export interface Served {
  server: Server;
  url: string;
}

/** The app of speedscope. */
export const speedscope = (): Promise<Served> => serve(join(modules, 'speedscope/dist/release'));

/** A page that draws a nested profile that is dropped on it with d3-flame-graph, without boxes below a pixel. */
export const d3FlameGraph = (): Promise<Served> => {
  const script = (...names: string[]) => names.map(name => `<script src="/${name}"></script>`).join('');
  const parts = ['array', 'color', 'dispatch', 'ease', 'format', 'hierarchy', 'interpolate', 'selection', 'time', 'time-format', 'timer', 'scale', 'transition'];
  return serve(modules, {
    '/index.html': `<!doctype html><link rel="stylesheet" href="/d3-flame-graph/dist/d3-flamegraph.css"><input type="file"><div id="chart"></div>
${script(...parts.map(p => `d3-${p}/dist/d3-${p}.min.js`), 'd3-flame-graph/dist/d3-flamegraph.umd.min.js')}
<script>
document.querySelector('input').addEventListener('change', async e => {
  const data = JSON.parse(await e.target.files[0].text());
  d3.select('#chart').datum(data).call(flamegraph.default().width(innerWidth - 20).cellHeight(19).minFrameSize(1));
});
</script>`,
  });
};
