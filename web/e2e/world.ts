// What the tests of pages need: the binary with a store, and a browser.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page, type Request } from 'playwright-core';

const root = resolve(import.meta.dirname, '../..');
const binary = process.env.DENDRO_TEST_BINARY ?? join(root, 'bin/dendro');
const browserPath = [process.env.CHROMIUM ?? '', '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(
  p => p && existsSync(p),
);

/** Why the tests cannot run; empty: they can. */
export const missing = !existsSync(binary)
  ? `there is no ${binary}: run \`make build\``
  : !browserPath
    ? 'there is no Chromium: install the package chromium, or set CHROMIUM to one'
    : '';

/** A name that would be markup, if it were not text. */
export const hostile = (field: string): string => `<img src=x onerror=alert('${field}')>"'\`</script><svg onload=alert(1)>`;

const axe = readFileSync(resolve(import.meta.dirname, '../node_modules/axe-core/axe.min.js'), 'utf8');

/** The browser of all files of a worker; it ends with the worker. */
let browser: Promise<Browser> | undefined;

const launch = (): Promise<Browser> =>
  chromium.launch({
    executablePath: browserPath!,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--no-first-run',
    ],
  });

export class World {
  readonly dir = mkdtempSync(join(tmpdir(), 'dendro-e2e-'));
  private readonly processes: ChildProcess[] = [];
  private readonly contexts: BrowserContext[] = [];

  /** Runs a command of the binary. */
  dendro(...args: string[]): string {
    return execFileSync(binary, args, {
      cwd: this.dir,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, CI: '' },
    });
  }

  write(name: string, content: string): string {
    const file = join(this.dir, name);
    writeFileSync(file, content);
    return file;
  }

  /** Starts `dendro serve`; the result is the addresses that it prints. */
  async serve(...args: string[]): Promise<{ http: string; grpc: string; process: ChildProcess }> {
    const { text, process } = await this.start(
      binary,
      ['serve', '--http-listen', '127.0.0.1:0', '--grpc-listen', '127.0.0.1:0', ...args],
      /^page {2}/m,
    );
    return { http: /^http {2}(\S+)/m.exec(text)![1]!, grpc: /^grpc {2}(\S+)/m.exec(text)![1]!, process };
  }

  /** Starts a program, and waits until it prints what is expected. */
  start(
    command: string,
    args: string[],
    until: RegExp,
    env: Record<string, string> = {},
  ): Promise<{ text: string; process: ChildProcess }> {
    const child = spawn(command, args, { cwd: this.dir, env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
    this.processes.push(child);
    let text = '';
    let errors = '';
    child.stderr!.on('data', d => (errors += d));
    return new Promise((done, failed) => {
      child.stdout!.on('data', d => {
        text += d;
        if (until.test(text)) done({ text, process: child });
      });
      child.on('exit', code => failed(new Error(`${command} ended with ${code}: ${errors}`)));
    });
  }

  /** Builds the example of the Go agent. */
  shop(): string {
    const out = join(this.dir, 'shop');
    execFileSync('go', ['build', '-o', out, '.'], { cwd: join(root, 'agent/example') });
    return out;
  }

  async page(options: BrowserContextOptions = {}): Promise<Watched> {
    const context = await (await (browser ??= launch())).newContext({ viewport: { width: 1600, height: 900 }, ...options });
    this.contexts.push(context);
    return new Watched(await context.newPage());
  }

  async close(): Promise<void> {
    for (const c of this.contexts) await c.close();
    for (const p of this.processes) p.kill('SIGKILL');
    rmSync(this.dir, { recursive: true, force: true });
  }
}

/** Pushes a profile of the demo as an SDK does. */
export async function push(base: string, run: string, version: string, at: number): Promise<void> {
  const form = new FormData();
  form.set('profile', new Blob([readFileSync(join(root, 'app/internal/demo/profiles', run, 'checkout.pb.gz'))]), 'profile.pprof');
  const q = new URLSearchParams({ name: `shop.api{service_version=${version}}`, from: String(at), until: String(at + 15), format: 'pprof', spyName: 'gospy' });
  const answer = await fetch(`${base}/ingest?${q}`, { method: 'POST', body: form });
  if (!answer.ok) throw new Error(`push: ${answer.status}: ${await answer.text()}`);
}

/** A page whose faults are noted. */
export class Watched {
  readonly faults: string[] = [];
  readonly requests: string[] = [];
  readonly #open = new Set<Request>();
  constructor(readonly page: Page) {
    page.on('console', m => {
      if (m.type() === 'error' || m.type() === 'warning') this.faults.push(`${m.type()}: ${m.text()} (${m.location().url})`);
    });
    page.on('pageerror', e => this.faults.push(`exception: ${e.message}`));
    page.on('dialog', d => {
      this.faults.push(`dialog: ${d.message()}`);
      void d.dismiss();
    });
    page.on('request', r => (this.requests.push(r.url()), this.#open.add(r)));
    for (const end of ['requestfinished', 'requestfailed'] as const) page.on(end as 'requestfailed', r => this.#open.delete(r));
  }

  /** Opens an address and waits until everything was loaded. */
  async open(url: string): Promise<void> {
    await this.page.goto(url, { waitUntil: 'load' });
    await this.settled();
  }

  async settled(): Promise<void> {
    await this.page.waitForSelector('h1');
    const loaded = () => this.page.waitForFunction(() => !document.querySelector('.loading'), undefined, { timeout: 20_000 });
    await loaded();
    // What comes after the picture, such as the names of runs; some tests hold answers back.
    for (const end = Date.now() + 2000; this.#open.size > 0 && Date.now() < end; ) await new Promise(done => setTimeout(done, 10));
    await this.drawn();
    await loaded();
  }

  /** Waits until what has changed is drawn. */
  async drawn(): Promise<void> {
    await this.page.evaluate(() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done))));
  }

  /** The labels of charts that are not all in their picture. */
  cut(): Promise<string[]> {
    return this.page.locator('svg text.axis').evaluateAll(list =>
      list.filter(e => e.getBoundingClientRect().left < e.closest('svg')!.getBoundingClientRect().left - 1 || e.getBoundingClientRect().right > e.closest('svg')!.getBoundingClientRect().right + 1).map(e => e.textContent ?? ''),
    );
  }

  /** Faults of accessibility, also minor ones, as text. */
  async barriers(): Promise<string[]> {
    await this.page.evaluate(axe);
    const found = await this.page.evaluate(async () => {
      type Axe = {
        run(options: object): Promise<{ violations: { id: string; impact: string; nodes: { html: string; failureSummary: string }[] }[] }>;
      };
      const { violations } = await (window as unknown as { axe: Axe }).axe.run({ resultTypes: ['violations'] });
      return violations.map(v => ({
        id: v.id,
        impact: v.impact,
        nodes: v.nodes.slice(0, 3).map(n => `${n.html.slice(0, 160)} ${n.failureSummary.replace(/\s+/g, ' ').slice(0, 200)}`),
      }));
    });
    return found.map(v => `${v.impact} ${v.id}: ${v.nodes.join('; ')}`);
  }

  async close(): Promise<void> {
    await this.page.context().close();
  }
}
