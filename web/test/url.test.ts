import { describe, expect, it } from 'vitest';
import { format, parse, withChanges } from '../src/core/url';

describe('addresses', () => {
  it('reads what it writes', () => {
    expect(format(parse('/regressions?branch=pr'))).toBe('/?branch=pr'); // it is part of the first page
    expect([format(parse('/function?type=cpu')), format(parse('/function?function=a.f'))]).toEqual(['/bottlenecks?type=cpu', '/function?function=a.f']); // a list without shares is none
    for (const a of ['/', '/profile?run=a&run=b&view=tree', '/diff?q=%5Efoo%7C%23bar', '/function?function=a/b.(*T).M', '/task?id=1']) {
      const p = parse(a);
      expect(parse(format(p))).toEqual(p);
      expect([...parse(format(p)).params]).toEqual([...p.params]);
    }
  });
  it('has short ones for changes and stored links', () => {
    expect([parse('/c/ab12-cpu').page, parse('/c/ab12-cpu').params.get('change')]).toEqual(['home', 'ab12-cpu']);
    expect(format(parse('/?branch=pr&change=ab12'))).toBe('/c/ab12?branch=pr');
    expect(format(parse('/c/ab12?branch=pr'))).toBe('/c/ab12?branch=pr');
    expect(format(parse('/?change=["g","b"]'))).toMatch(/^\/\?change=/); // a benchmark without a change
    expect([parse('/s/abc').page, parse('/s/abc').params.get('link')]).toEqual(['short', 'abc']);
    for (const a of ['/c/', '/c/a/b', '/s/..', '/s/%2e%2e', '/c/a.b', '/s/<script>', '//evil.example']) expect(parse(a).page, a).toBe('missing');
  });
  it('keeps every character of a parameter', () => {
    let all = '';
    for (let i = 1; i < 0x300; i++) all += String.fromCharCode(i);
    all += '\u{1F600}%2F&=+#?';
    const params = withChanges(new URLSearchParams(), { q: all });
    expect(parse(format({ page: 'profile', params })).params.get('q')).toBe(all);
  });
  it('has a page for unknown addresses', () => {
    expect(parse('/nowhere/else').page).toBe('missing');
    expect(parse('').page).toBe('home');
  });
  it('changes parameters', () => {
    const p = withChanges(new URLSearchParams('a=1&b=2'), { a: null, b: ['x', 'y'], c: 3, d: '' });
    expect(p.toString()).toBe('b=x&b=y&c=3');
  });
});
