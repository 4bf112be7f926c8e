/** One map over all pools: each a tile, those that run out first in front. */
import { useEffect, useRef } from 'preact/hooks';
import { address } from './location.ts';
import { readInk } from './palette.ts';
import { spacedCount } from './parts.tsx';
import { cellOf } from './space-geometry.ts';
import { indexOfCidr, type SpaceModel } from './space-model.ts';
import { paintCells } from './space-paint.ts';
import { store } from './store.ts';
import { useThemeVersion } from './theme.ts';

interface PoolTilesProps {
  models: readonly SpaceModel[];
  version: string;
  tintOf: (model: SpaceModel, index: number) => number;
  disputed: ReadonlySet<string>;
  selected: string;
  colour: string;
}

export function PoolTiles(props: PoolTilesProps) {
  return (
    <ul class="tiles" aria-label="All pools">
      {props.models.map((model) => (
        <li key={`${model.pool.name} ${model.cidr.cidr}`}>
          <Tile {...props} model={model} />
        </li>
      ))}
    </ul>
  );
}

function Tile({
  model,
  version,
  tintOf,
  disputed,
  selected,
  colour,
}: PoolTilesProps & { model: SpaceModel }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const theme = useThemeVersion();
  const { pool, cidr, shape } = model;
  const own = [...disputed].filter((one) => indexOfCidr(model, one) !== undefined);
  const isHere = selected !== '' && indexOfCidr(model, selected) !== undefined;
  useEffect(() => {
    const element = canvas.current;
    const context = element?.getContext('2d');
    if (!element || !context) return;
    const ink = readInk();
    const { cells } = paintCells(model, ink, (index) => tintOf(model, index));
    // Several pixels a cell, so that an outline has room beside the colour.
    const scale = Math.max(2, Math.floor(160 / shape.columns));
    element.width = shape.columns * scale;
    element.height = shape.rows * scale;
    context.imageSmoothingEnabled = false;
    context.drawImage(cells, 0, 0, element.width, element.height);
    context.strokeStyle = ink.alert;
    context.lineWidth = 2;
    for (const one of own) {
      const { x, y } = cellOf(shape, indexOfCidr(model, one) ?? 0);
      context.strokeRect(x * scale + 1, y * scale + 1, scale - 2, scale - 2);
    }
  }, [version, theme, own.join()]);
  const taken = cidr.assigned + cidr.cooling + cidr.awaitingRelease;
  return (
    <a
      class={`tile ${isHere ? 'chosen' : ''}`}
      href={address('space', '', { pool: pool.name, colour })}
    >
      <canvas ref={canvas} aria-hidden="true" tabIndex={-1} />
      <b title={pool.name}>{pool.name}</b>
      <span class="cidr">{cidr.cidr}</span>
      <span class="small">{`${spacedCount(taken)} of ${spacedCount(cidr.capacity)} blocks`}</span>
      <DaysLeft pool={pool.name} />
      {own.length > 0 && <span class="mark mark-bad">{`${own.length} disputed`}</span>}
    </a>
  );
}

/** How long it lasts at the pace of the last month; nothing where it does not grow. */
export function DaysLeft({ pool }: { pool: string }) {
  const rooms = store.all('room').filter((room) => room.pool === pool);
  const [first] = rooms.sort((a, b) => a.at - b.at);
  if (first === undefined) return null;
  if (first.free === 0) return <span class="mark mark-bad">full</span>;
  if (first.daysLeft === undefined) return null;
  const tone = first.daysLeft <= 14 ? 'bad' : first.daysLeft <= 60 ? 'warn' : 'off';
  return (
    <span class={`mark mark-${tone}`} title={first.forecast}>
      {`${spacedCount(first.daysLeft)} days left`}
    </span>
  );
}
