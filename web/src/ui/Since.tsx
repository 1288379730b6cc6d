// The date since which the listed changes are new: a field, and the dates that one says by name.
import { daysNamed } from '../core/days';
import { place, update } from '../core/url';
import { When } from './When';

export function Since() {
  const now = place.value.params.get('new') ?? '';
  return (
    <span class="since" title="only changes that runs from this day on showed first">
      <When title="New since" days value={now} onChange={date => update({ new: date }, true)} />
      {daysNamed(new Date()).map(([name, date]) => (
        <button key={name} type="button" title={date} aria-pressed={now === date} onClick={() => update({ new: now === date ? null : date }, true)}>
          {name}
        </button>
      ))}
    </span>
  );
}
