/** A small pool: its blocks in order, each a button. */
import { cidrAt, type SpaceModel, stateAt } from './space-model.ts';
import { store } from './store.ts';

export interface StripProps {
  model: SpaceModel;
  colourOf: (index: number) => string;
  disputed: ReadonlySet<string>;
  selected: string;
  onSelect: (cidr: string) => void;
  onOpen: (index: number) => void;
}

export function Strip({ model, colourOf, disputed, selected, onSelect, onOpen }: StripProps) {
  const size = 2 ** model.shape.bits;
  const onKey = (event: KeyboardEvent, index: number) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const cell = event.currentTarget as HTMLElement;
    if (step !== undefined) {
      const next = (cell.parentElement as HTMLElement).children[index + step] as HTMLElement;
      next?.querySelector('button')?.focus();
      next?.focus();
      event.preventDefault();
    }
  };
  return (
    <div class="strip">
      {Array.from({ length: size }, (_, index) => {
        const cidr = model.blocks[index]?.cidr ?? cidrAt(model, index);
        const block = model.blocks[index];
        const state = stateAt(model, index);
        const used = store
          .map('node')
          .get(block?.node ?? '')
          ?.used?.find((one) => one.cidr === cidr);
        const isHeld = block !== undefined && state !== 'reserved';
        const fill = used ? used.pods / Math.max(1, Number(used.total)) : 0;
        const shown = block?.node || (state === 'free' ? '' : state);
        const words = `${cidr}, ${block?.node || state}${block && state !== 'Active' ? `, ${state}` : ''}`;
        return (
          <button
            type="button"
            key={cidr}
            class={`plot plot-${state} ${disputed.has(cidr) ? 'disputed' : ''}`}
            aria-pressed={selected === cidr}
            aria-label={`${shortCidr(cidr)} ${shown} (${words}${disputed.has(cidr) ? ', records disagree' : ''})`}
            title={words}
            style={isHeld ? { '--tint': colourOf(index) } : {}}
            onClick={() => onSelect(cidr)}
            onDblClick={() => onOpen(index)}
            onKeyDown={(event) => onKey(event, index)}
          >
            <span class="plot-cidr">{shortCidr(cidr)}</span> <span class="plot-node">{shown}</span>
            {used && (
              <span class="plot-fill">
                <i style={{ width: `${Math.round(fill * 100)}%` }} />
              </span>
            )}
          </button>
        );
      })}
    </div>
  );
}

/** `10.5.112.0/24` → `112.0/24`: the pool's own CIDR stands above. */
function shortCidr(cidr: string): string {
  const parts = cidr.split('.');
  return parts.length === 4 ? parts.slice(2).join('.') : cidr;
}
