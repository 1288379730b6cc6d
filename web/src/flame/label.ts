// Labels of boxes. A narrow box loses the folders of the package, then the package,
// then the type, and last the end of the method's name; never the method itself.
import { clone } from '../core/metric';
import { type Func, parts } from '../core/table';

/** The forms of a function's name, from the longest to the shortest. */
export function forms(f: Func): string[] {
  const [folders, pkg, symbol] = parts(f);
  const list = f.baseName ? [`${f.name} (was ${f.baseName})`, f.name] : [f.name];
  for (const form of [folders && pkg + symbol, symbol, method(symbol)])
    if (form && form.length < list[list.length - 1]!.length) list.push(form);
  return list;
}

/** The last part of a symbol: "(*T).M" is M, "vector<int>::push_back(int)" is push_back, "f.isra.0" is f. */
function method(symbol: string): string {
  let s = symbol.replace(clone, '').replace(/^\(\*?[^)]*\)\./, '');
  const paren = s.indexOf('(');
  if (paren > 0) s = s.slice(0, paren);
  for (let before = ''; before !== s; ) {
    before = s;
    s = s.replace(/<[^<>]*>|\[[^[\]]*\]/g, '');
  }
  if (s.includes('/')) return s; // an address, or the function of a script
  const colons = s.lastIndexOf('::');
  if (colons >= 0) s = s.slice(colons + 2);
  const dot = s.lastIndexOf('.');
  const last = s.slice(dot + 1);
  return /^(func)?\d+$/.test(last) ? s : last; // a closure is named by its function
}

/** The letters of a text as people see them; of ASCII, as most names are, its characters. */
const lettersOf = (text: string): string[] =>
  /[^\x20-\x7e]/.test(text) ? Array.from(new Intl.Segmenter().segment(text), s => s.segment) : text.split('');

/** Chooses labels by their width in a font, which is measured once per text. */
export class Labels {
  readonly #widths = new Map<string, number>();
  readonly #forms: string[][] = [];
  constructor(
    readonly functions: readonly Func[],
    readonly measure: (text: string) => number,
  ) {}

  width(text: string): number {
    let w = this.#widths.get(text);
    if (w === undefined) {
      w = this.measure(text);
      this.#widths.set(text, w);
    }
    return w;
  }

  /** The longest label that fits into room; empty if not even two letters do. */
  fit(fn: number, room: number): string {
    let list = this.#forms[fn];
    if (!list) {
      list = forms(this.functions[fn]!);
      this.#forms[fn] = list;
    }
    for (const text of list) if (this.width(text) <= room) return text;
    const shortest = list[list.length - 1]!;
    const letters = lettersOf(shortest);
    let n = Math.floor((letters.length * (room - this.width('…'))) / this.width(shortest));
    const cut = () => `${letters.slice(0, n).join('')}…`;
    while (n > 1 && this.measure(cut()) > room) n--;
    return n < 2 ? '' : cut();
  }
}
