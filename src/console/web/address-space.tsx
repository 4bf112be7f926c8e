/** The address space as a map: small pools as strips, large ones as Hilbert maps, a table beside. */

import { useMemo } from 'preact/hooks';
import { addToGroup } from '../../base/add-to-group.ts';
import { ageText } from '../../base/age-text.ts';
import type { BlockRow, PoolRow } from '../rows.ts';
import { address, go, type PageLocation, setQuery } from './location.ts';
import { css, readInk, tint, tintNumbers } from './palette.ts';
import {
  Age,
  addresses,
  Empty,
  Mark,
  NodeLink,
  percent,
  SameCommand,
  Scroll,
  spacedCount,
  TableHead,
  useNow,
} from './parts.tsx';
import { DaysLeft, PoolTiles } from './pool-tiles.tsx';
import { smallest } from './smallest.ts';
import { SpaceMap } from './space-map.tsx';
import { cidrAt, indexOfCidr, landModel, type SpaceModel, stateAt } from './space-model.ts';
import { Strip } from './space-strip.tsx';
import { type RowStore, useStore } from './store.ts';
import { useThemeVersion } from './theme.ts';
import { useTruth } from './use-truth.ts';

/** Up to so many CIDRs are drawn large, one below the other; of more, all fit on one sheet. */
const mostSheets = 6;

type ColourBy = 'rack' | 'pool';

export function AddressSpace({ place }: { place: PageLocation }) {
  const store = useStore();
  const truth = useTruth();
  const now = useNow();
  useThemeVersion();
  const pools = sortedPools(store);
  const poolName = place.query.get('pool') ?? '';
  const colourBy: ColourBy = place.query.get('colour') === 'pool' ? 'pool' : 'rack';
  const chosen = pools.find(({ name }) => name === poolName);
  const selected = place.query.get('block') ?? '';
  const byPool = useBlocksByPool(store);
  const tints = useTints(store, colourBy);
  const version = store.version('block', 'pool', 'node');
  const models = useMemo(
    () =>
      (chosen ? [chosen] : pools).flatMap((pool) =>
        pool.cidrs.flatMap((cidr) => landModel(pool, cidr, byPool.get(pool.name) ?? []) ?? []),
      ),
    [version, chosen?.name],
  );
  const select = (cidr: string) => setQuery({ block: cidr });
  const open = (model: SpaceModel, index: number) => {
    const owner = model.blocks[index]?.node;
    if (owner) go(address('nodes', owner));
  };
  const ink = readInk();
  if (pools.length === 0) {
    return (
      <section class="view">
        <h1>Address space</h1>
        <Empty>There is no pool yet. An IPPool says from which CIDRs nodes get their blocks.</Empty>
        <SameCommand command="cadastre pools" />
      </section>
    );
  }
  return (
    <section class="view space">
      <div class="space-head">
        <h1>Address space</h1>
        <ColourSwitch value={colourBy} />
        <Legend tints={tints} isDark={ink.isDark} />
      </div>
      <div class="space-body">
        <PoolList pools={pools} chosen={poolName} place={place} />
        <div class={`sheets ${chosen ? 'one' : ''}`}>
          {chosen === undefined && poolName !== '' && (
            <Empty>There is no pool called {poolName} (any more). These are all there are.</Empty>
          )}
          {chosen === undefined && models.length > mostSheets ? (
            <PoolTiles
              models={models}
              version={`${version} ${colourBy}`}
              tintOf={(model, index) => tintOf(tints, store, model, index, colourBy)}
              disputed={truth.disputed}
              selected={selected}
              colour={place.query.get('colour') ?? ''}
            />
          ) : (
            models.map((model) => (
              <article class="sheet" key={`${model.pool.name} ${model.cidr.cidr}`}>
                <SheetHead model={model} />
                {model.isStrip ? (
                  <Strip
                    model={model}
                    colourOf={(index) =>
                      css(tint(tintOf(tints, store, model, index, colourBy), ink.isDark))
                    }
                    disputed={truth.disputed}
                    selected={selected}
                    onSelect={select}
                    onOpen={(index) => open(model, index)}
                  />
                ) : (
                  <SpaceMap
                    model={model}
                    version={`${version} ${colourBy}`}
                    tintOf={(index) => tintOf(tints, store, model, index, colourBy)}
                    disputed={disputedCells(model, truth.disputed)}
                    selected={selected === '' ? undefined : indexOfCidr(model, selected)}
                    onSelect={(index) => select(model.blocks[index]?.cidr ?? cidrAt(model, index))}
                    onOpen={(index) => open(model, index)}
                  />
                )}
              </article>
            ))
          )}
        </div>
        <aside class="beside">
          <Detail
            store={store}
            cidr={selected}
            models={models}
            now={now}
            disputed={truth.disputed}
          />
          <BlockTable
            pool={chosen?.name ?? ''}
            blocks={chosen ? (byPool.get(chosen.name) ?? []) : store.all('block')}
            now={now}
            selected={selected}
            store={store}
            text={place.query.get('find') ?? ''}
          />
        </aside>
      </div>
      <SameCommand command={selected === '' ? 'cadastre blocks' : `cadastre explain ${selected}`} />
    </section>
  );
}

function ColourSwitch({ value }: { value: ColourBy }) {
  return (
    <fieldset class="choice">
      <legend>Colour by</legend>
      {(['rack', 'pool'] as const).map((one) => (
        <label key={one}>
          <input
            type="radio"
            name="colour"
            checked={value === one}
            onChange={() => setQuery({ colour: one === 'rack' ? '' : one })}
          />
          {one}
        </label>
      ))}
    </fieldset>
  );
}

function Legend({ tints, isDark }: { tints: ReadonlyMap<string, number>; isDark: boolean }) {
  const shown = [...tints].slice(0, 8);
  return (
    <ul class="legend" aria-label="Legend">
      {shown.map(([name, number]) => (
        <li key={name}>
          <i style={{ background: css(tint(number, isDark)) }} />
          {name || 'no rack'}
        </li>
      ))}
      {tints.size > shown.length && <li class="muted">and {tints.size - shown.length} more</li>}
      <li>
        <i class="swatch-free" />
        free
      </li>
      <li>
        <i class="swatch-hatched" />
        reserved or cooling
      </li>
      <li>
        <i class="swatch-disputed" />
        disagreement
      </li>
    </ul>
  );
}

function PoolList(props: { pools: PoolRow[]; chosen: string; place: PageLocation }) {
  const { pools, chosen, place } = props;
  const colour = place.query.get('colour') ?? '';
  const link = (name: string, pool?: PoolRow) => {
    const total = (pool?.cidrs ?? []).reduce((sum, { capacity }) => sum + capacity, 0);
    const taken = (pool?.cidrs ?? []).reduce(
      (sum, c) => sum + c.assigned + c.cooling + c.awaitingRelease,
      0,
    );
    return (
      <a
        href={address('space', '', { pool: name, colour })}
        aria-current={chosen === name ? 'true' : undefined}
      >
        <span class="pool-name">{name || 'All pools'}</span>
        {pool && (
          <>
            <span class="pool-use">{`${spacedCount(taken)} of ${spacedCount(total)}`}</span>
            <DaysLeft pool={name} />
            <meter
              aria-label={`${name}: blocks taken`}
              min={0}
              max={Math.max(1, total)}
              value={taken}
            />
            {pool.state !== 'Ready' && <Mark tone="warn">{pool.state}</Mark>}
          </>
        )}
      </a>
    );
  };
  return (
    <nav class="pools" aria-label="Pools">
      {link('')}
      {pools.map((pool) => (
        <div key={pool.name}>{link(pool.name, pool)}</div>
      ))}
    </nav>
  );
}

function SheetHead({ model }: { model: SpaceModel }) {
  const { pool, cidr } = model;
  return (
    <header class="sheet-head">
      <h2>
        <span class="cidr">{cidr.cidr}</span> <span class="sheet-pool">{pool.name}</span>
      </h2>
      <p>
        {`${spacedCount(cidr.assigned)} assigned, ${spacedCount(cidr.free)} free of ${spacedCount(cidr.capacity)} blocks of /${cidr.blockLength}`}
        {cidr.cooling > 0 && `, ${cidr.cooling} cooling`}
        {cidr.awaitingRelease > 0 && `, ${cidr.awaitingRelease} awaiting release`}
        {model.perCell > 1n && `; a cell is ${model.perCell} blocks`}
        <span class="muted">
          {pool.selector === '' ? ' · for every node' : ` · for ${pool.selector}`}
        </span>
      </p>
    </header>
  );
}

function Detail(props: {
  store: RowStore;
  cidr: string;
  models: SpaceModel[];
  now: number;
  disputed: ReadonlySet<string>;
}) {
  const { store, cidr, models, now, disputed } = props;
  if (cidr === '') {
    return (
      <div class="card detail">
        <p class="muted for-mouse">Point at a block, or walk the map with the arrow keys.</p>
        <p class="muted for-touch">Tap a block to see whose it is.</p>
      </div>
    );
  }
  const model = models.find((one) => indexOfCidr(one, cidr) !== undefined);
  const index = model && indexOfCidr(model, cidr);
  const block =
    store.map('block').get(cidr) ?? (index === undefined ? undefined : model?.blocks[index]);
  const owner = block && store.map('node').get(block.node);
  const used = owner?.used?.find((one) => one.cidr === cidr);
  const state = model && index !== undefined ? stateAt(model, index) : undefined;
  return (
    <div class="card detail" aria-live="polite">
      <h3 class="cidr">{cidr}</h3>
      {block === undefined ? (
        <p>{state === undefined ? 'in no pool shown here' : state}</p>
      ) : (
        <dl class="pairs">
          <dt>owner</dt>
          <dd>{block.node === '' ? '–' : <NodeLink name={block.node} />}</dd>
          <dt>rack</dt>
          <dd>{owner?.rack || '–'}</dd>
          <dt>pool</dt>
          <dd>{block.pool}</dd>
          <dt>phase</dt>
          <dd>
            {block.phase} · <Age sinceMs={block.sinceMs} now={now} />
            {block.freeAtMs !== undefined &&
              ` · in cool-down for ${ageText(block.freeAtMs - now)} more`}
            {block.release !== undefined && ` · ${block.release}`}
          </dd>
          <dt>in use</dt>
          <dd>
            {used
              ? `${used.pods} of ${addresses(Number(used.total))} (${percent(used.pods, Number(used.total))})`
              : '–'}
          </dd>
          <dt>records</dt>
          <dd>
            {disputed.has(cidr) ? (
              <a href={address('consistency')}>
                <Mark tone="bad">disagree</Mark>
              </a>
            ) : (
              <Mark tone="good">agree</Mark>
            )}
          </dd>
        </dl>
      )}
    </div>
  );
}

const tableRows = 100;
const byNumber = new Intl.Collator('en', { numeric: true });

function BlockTable(props: {
  /** Of one pool, or of all. */
  pool: string;
  blocks: readonly BlockRow[];
  now: number;
  selected: string;
  store: RowStore;
  text: string;
}) {
  const { text } = props;
  const wanted = text.trim().toLowerCase();
  // Not on every render: ages alone are shown anew every second, and there may be 65,536 blocks.
  const { matching, shown } = useMemo(() => {
    const found = props.blocks.filter(
      ({ cidr, node, pool, phase }) =>
        wanted === '' || `${cidr} ${node} ${pool} ${phase}`.toLowerCase().includes(wanted),
    );
    const first = smallest(found, tableRows, (a, b) => byNumber.compare(a.cidr, b.cidr));
    return { matching: found, shown: first };
  }, [props.store.version('block'), props.pool, wanted]);
  return (
    <div class="card block-table">
      <label class="filter">
        <span>Blocks</span>
        <input
          type="search"
          value={text}
          placeholder="CIDR, node, pool or phase"
          onInput={(event) => setQuery({ find: event.currentTarget.value })}
        />
      </label>
      <Scroll class="scroll" label="Blocks as a table">
        <table>
          <TableHead columns={['block', 'node', 'phase', ['in use', 'right']]} />
          <tbody>
            {shown.map((block) => {
              const used = props.store
                .map('node')
                .get(block.node)
                ?.used?.find(({ cidr }) => cidr === block.cidr);
              return (
                <tr key={block.cidr} class={block.cidr === props.selected ? 'chosen' : ''}>
                  <td>
                    <a
                      class="cidr"
                      href={address('space', '', {
                        pool: props.pool,
                        block: block.cidr,
                        find: text,
                      })}
                    >
                      {block.cidr}
                    </a>
                  </td>
                  <td>{block.node && <NodeLink name={block.node} />}</td>
                  <td>{block.phase}</td>
                  <td class="right">{used?.pods ?? '–'}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </Scroll>
      <p class="muted small">
        {props.blocks.length === 0
          ? 'No block is assigned yet.'
          : matching.length > shown.length
            ? `the first ${shown.length} of ${spacedCount(matching.length)}; the filter finds the others`
            : `${spacedCount(matching.length)} of ${spacedCount(props.blocks.length)}`}
      </p>
    </div>
  );
}

function sortedPools(store: RowStore): PoolRow[] {
  return store
    .all('pool')
    .sort(
      (a, b) =>
        placeOf(store, a) - placeOf(store, b) ||
        b.priority - a.priority ||
        a.name.localeCompare(b.name, 'en', { numeric: true }),
    );
}

/** By pressure: what runs out first stands first. */
function placeOf(store: RowStore, { name }: PoolRow): number {
  const rooms = store.all('room').filter(({ pool }) => pool === name);
  return rooms.length === 0 ? 0 : Math.min(...rooms.map(({ at }) => at));
}

function useBlocksByPool(store: RowStore): Map<string, BlockRow[]> {
  return useMemo(() => {
    const byPool = new Map<string, BlockRow[]>();
    for (const block of store.map('block').values()) {
      addToGroup(byPool, block.pool, block);
    }
    return byPool;
  }, [store.version('block')]);
}

function useTints(store: RowStore, colourBy: ColourBy): Map<string, number> {
  return useMemo(
    () =>
      colourBy === 'rack'
        ? tintNumbers(store.all('node').map(({ rack }) => rack))
        : tintNumbers(store.all('pool').map(({ name }) => name)),
    [store.version('node', 'pool'), colourBy],
  );
}

function tintOf(
  tints: ReadonlyMap<string, number>,
  store: RowStore,
  model: SpaceModel,
  index: number,
  colourBy: ColourBy,
): number {
  const block = model.blocks[index];
  if (block === undefined) return 0;
  const name = colourBy === 'pool' ? block.pool : (store.map('node').get(block.node)?.rack ?? '');
  return tints.get(name) ?? 11;
}

function disputedCells(model: SpaceModel, disputed: ReadonlySet<string>): number[] {
  return [...disputed].flatMap((cidr) => indexOfCidr(model, cidr) ?? []);
}
