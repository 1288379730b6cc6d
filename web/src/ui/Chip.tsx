// What is applied to a view, with the way to take it back.
import type { ComponentChildren } from 'preact';

export const Chip = ({ label, remove, children, role }: { label: string; remove: () => void; children: ComponentChildren; role?: 'status' }) => (
  <span class="chip" role={role}>
    {children}
    <button type="button" aria-label={label} title={label} onClick={remove}>
      ×
    </button>
  </span>
);
