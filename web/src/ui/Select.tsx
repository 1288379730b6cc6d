// A choice with its name; what is chosen and not in the list is listed too.
import { visible } from '../core/format';

interface Props {
  title: string;
  value: string;
  options: readonly (readonly [value: string, label: string])[];
  change: (value: string) => void;
}

export function Select({ title, value, options, change }: Props) {
  return (
    <label>
      {title}
      <select value={value} onChange={e => change(e.currentTarget.value)}>
        {!options.some(([v]) => v === value) && <option value={value}>{visible(value)}</option>}
        {options.map(([v, label]) => (
          <option key={v} value={v}>
            {label}
          </option>
        ))}
      </select>
    </label>
  );
}
