// The name of a function: its package dim, what it is called bright.
import { visible } from '../core/format';
import { splitName } from '../core/metric';

export function Fn({ name }: { name: string }) {
  const [pkg, symbol] = splitName(visible(name));
  return (
    <span class="name">
      <span class="pkg">{pkg}</span>
      {symbol}
    </span>
  );
}
