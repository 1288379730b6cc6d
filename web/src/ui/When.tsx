// The one field for a day or a time, in UTC: a date, or as one says it.
import { useState } from 'preact/hooks';
import { day, moment } from '../core/days';

interface Props {
  title: string;
  /** "2026-11-20", or with hours "2026-11-20 14:00"; empty: none. */
  value: string;
  /** What it means empty; an example by default. */
  placeholder?: string;
  /** Only days. */
  days?: boolean;
  /** A time from now on: Monday is the next one; without it the last one. */
  ahead?: boolean;
  onChange: (value: string) => void;
}

export function When({ title, value, placeholder, days, ahead, onChange }: Props) {
  const example = days ? '2026-11-20' : '2026-11-20 14:00';
  const hint = `${example}, ${days ? 'Monday or today' : 'Monday 9:00 or 14:00'}, in UTC${ahead && !days ? ', not before now' : ''}`;
  const [wrong, setWrong] = useState(''); // what was entered and is no time
  return (
    <label>
      {title}
      <input
        type="text"
        size={days ? 10 : 16}
        placeholder={placeholder ?? example}
        title={hint}
        value={wrong || value}
        onChange={e => {
          const text = e.currentTarget.value.trim();
          const found = (days ? day : moment)(text, new Date(), ahead);
          e.currentTarget.setCustomValidity(found === undefined ? hint : '');
          e.currentTarget.reportValidity();
          setWrong(found === undefined ? text : '');
          if (found !== undefined) onChange(found);
        }}
      />
    </label>
  );
}
