// The date since which the listed changes are new: a field, and the dates that one says by name.
import { day, daysNamed } from '../core/days';
import { place, update } from '../core/url';

export function Since() {
  const now = place.value.params.get('new') ?? '';
  return (
    <span class="since" title="only changes that runs from this day on showed first, in UTC">
      <label>
        New since
        <input
          type="text"
          size={10}
          placeholder="2026-11-21"
          value={now}
          onChange={e => {
            const found = day(e.currentTarget.value.trim(), new Date());
            if (found !== undefined) update({ new: found }, true);
            e.currentTarget.setCustomValidity(found === undefined ? 'year-month-day, or the name of a day' : '');
            e.currentTarget.reportValidity();
          }}
        />
      </label>
      {daysNamed(new Date()).map(([name, date]) => (
        <button key={name} type="button" title={date} aria-pressed={now === date} onClick={() => update({ new: now === date ? null : date }, true)}>
          {name}
        </button>
      ))}
    </span>
  );
}
