// A choice of yes or no that is in the address.
import type { ComponentChildren } from 'preact';
import { place, update } from '../core/url';

interface Props {
  /** The parameter, and its value when the box is checked. */
  name: string;
  value?: string;
  title?: string;
  /** A step of the history. */
  push?: boolean;
  children: ComponentChildren;
}

export const Box = ({ name, value = 'true', title, push = false, children }: Props) => (
  <label class="choice" title={title}>
    <input type="checkbox" checked={place.value.params.get(name) === value} onChange={e => update({ [name]: e.currentTarget.checked ? value : null }, push)} /> {children}
  </label>
);

/** Whether times are those of the function alone. */
export const SelfBox = () => (
  <Box name="self" push title="time of the function alone, without what it calls">
    self only
  </Box>
);
