// What a person does in a test, counted, and the table of docs/web.md that the counts are held to.
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect } from 'vitest';
import type { Watched } from './world';

/** Does what a person does, and counts: a click, a drag, a key, and a text that is typed, are one step each. */
export class Person {
  steps = 0;
  constructor(readonly w: Watched) {}
  async click(name: string | RegExp, role: 'button' | 'link' | 'menuitem' | 'menuitemradio' | 'checkbox' | 'columnheader' = 'button') {
    this.steps++;
    await this.w.page.getByRole(role, { name }).first().click();
  }
  async key(...keys: string[]) {
    for (const k of keys) {
      this.steps++;
      await this.w.page.keyboard.press(k);
    }
  }
  async type(text: string) {
    this.steps++;
    await this.w.page.keyboard.type(text);
  }
  async drop(file: string) {
    this.steps++;
    await this.w.page.setInputFiles('input[type=file]', file);
  }
  /** A click on the box of a row of the graph, at a share of its width. */
  async box(row: number, at: number, how: 'click' | 'double' | 'right' = 'click') {
    this.steps++;
    const canvas = this.w.page.locator('.flame canvas').last();
    const area = (await canvas.boundingBox())!;
    const [x, y] = [area.x + at * area.width, area.y + 19 * row + 9];
    if (how === 'double') await this.w.page.mouse.dblclick(x, y);
    else await this.w.page.mouse.click(x, y, { button: how === 'right' ? 'right' : 'left' });
    await this.w.page.waitForTimeout(50);
  }
  /** A choice of a list. */
  async choose(label: string, value: string) {
    this.steps++;
    await this.w.page.getByLabel(label).selectOption(value);
  }
  async drag(over: string, from: number, to: number) {
    this.steps++;
    const box = (await this.w.page.locator(over).first().boundingBox())!;
    await this.w.page.mouse.move(box.x + from * box.width, box.y + 8);
    await this.w.page.mouse.down();
    await this.w.page.mouse.move(box.x + to * box.width, box.y + 8, { steps: 8 });
    await this.w.page.mouse.up();
  }
  /** A click, or a double click, on a point of the window. */
  async point(x: number, y: number, double = false) {
    this.steps++;
    await this.w.page.mouse.click(x, y, double ? { clickCount: 2, delay: 20 } : {});
  }
  /** Waits for the address. */
  at(url: RegExp) {
    return this.w.page.waitForURL(url, { timeout: 30_000 });
  }
  see(text: string | RegExp) {
    return this.w.page.getByText(text).first().waitFor({ timeout: 30_000 });
  }
}

/** The steps of Dendro, of speedscope and of the best other viewer, by task; none are Infinity. */
export function table(): Map<string, { dendro: number; speedscope: number; best: number }> {
  const text = readFileSync(resolve(import.meta.dirname, '../../docs/web.md'), 'utf8');
  const rows: ReturnType<typeof table> = new Map();
  const steps = (x: string) => Number(/\d+/.exec(x)?.[0] ?? Infinity);
  for (const [, name, dendro, ...others] of text.matchAll(/^\| ([a-z][^|]*?) \| (\d+) \| (\d+|–) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$/gm))
    rows.set(name!, { dendro: Number(dendro), speedscope: steps(others[0]!), best: Math.min(...others.map(steps)) });
  return rows;
}

/** Holds the steps of a task to the table, and to what the best viewer needs. */
export function counted(p: Person, task: string): void {
  const row = table().get(task);
  expect({ task, steps: p.steps }).toEqual({ task, steps: row?.dendro });
  expect(p.steps).toBeLessThanOrEqual(row!.best);
}
