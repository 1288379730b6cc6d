// Panels beside what a page is about: as wide as their edge was dragged, which the browser remembers.
import type { Signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useRef } from 'preact/hooks';

interface Props {
  /** In px; 0: as the style sheet has it. */
  width: Signal<number>;
  /** The side of the page it is at. */
  at: 'left' | 'right';
  label: string;
  class: string;
  children: ComponentChildren;
}

export function Panel({ width, at, label, class: name, children }: Props) {
  const ref = useRef<HTMLDivElement>(null);
  const set = (px: number) => (width.value = Math.round(Math.max(160, Math.min(innerWidth * 0.7, px))));
  const sign = at === 'left' ? 1 : -1;
  const panel = (
    <div key="panel" ref={ref} class={name} style={width.value > 0 ? { width: `${width.value}px`, maxWidth: 'none', minWidth: 0 } : {}}>
      {children}
    </div>
  );
  const edge = (
    <div
      key="edge"
      class="edge"
      role="separator"
      aria-orientation="vertical"
      aria-label={label}
      aria-valuenow={width.value}
      tabIndex={0}
      title="drag to resize, double click for the width it had"
      onPointerDown={e => e.currentTarget.setPointerCapture(e.pointerId)}
      onPointerMove={e => {
        const r = ref.current!.getBoundingClientRect();
        if (e.buttons === 1) set(at === 'left' ? e.clientX - r.left : r.right - e.clientX);
      }}
      onDblClick={() => (width.value = 0)}
      onKeyDown={e => {
        const by = { ArrowLeft: -24, ArrowRight: 24 }[e.key];
        if (!by) return;
        set(ref.current!.clientWidth + sign * by);
        e.preventDefault();
        e.stopPropagation();
      }}
    />
  );
  return <>{at === 'left' ? [panel, edge] : [edge, panel]}</>;
}
