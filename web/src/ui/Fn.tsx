// The name of a function: its package dim, what it is called bright. Narrow windows hide
// the folders of the package.
import { visible } from '../core/format';
import { splitName } from '../core/metric';

/** The name of a benchmark: its group dim. */
export const Named = ({ of, as = of.benchmark }: { of: { group?: string; benchmark: string }; as?: string }) => (
  <>
    <span class="pkg">{of.group && `${visible(of.group)}/`}</span>
    {visible(as)}
  </>
);

export function Fn({ name }: { name: string }) {
  const [pkg, symbol] = splitName(visible(name));
  const folders = pkg.slice(0, pkg.lastIndexOf('/') + 1);
  return (
    <span class="name">
      <span class="pkg">
        {folders && <span class="folders">{folders}</span>}
        <wbr />
        {pkg.slice(folders.length)}
      </span>
      <wbr />
      {symbol}
    </span>
  );
}
