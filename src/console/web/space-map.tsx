/** The large map: a canvas that is dragged, zoomed, pointed at, and walked with the arrow keys. */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { readInk } from './palette.ts';
import { cellOf } from './space-geometry.ts';
import { cidrAt, type SpaceModel, stateAt } from './space-model.ts';
import { lookup, paintCells, paintMap, type Sight } from './space-paint.ts';
import { useThemeVersion } from './theme.ts';

export interface SpaceMapProps {
  model: SpaceModel;
  version: string;
  tintOf: (index: number) => number;
  disputed: readonly number[];
  selected: number | undefined;
  onSelect: (index: number) => void;
  onOpen: (index: number) => void;
}

const maxScale = 150;

export function SpaceMap(props: SpaceMapProps) {
  const { model, selected, onSelect, onOpen } = props;
  const canvas = useRef<HTMLCanvasElement>(null);
  const control = useMemo(() => new MapControl(), []);
  const theme = useThemeVersion();
  const [hovered, setHovered] = useState<{ index: number; x: number; y: number }>();
  control.props = props;
  useEffect(() => {
    const element = canvas.current;
    if (element === null) return;
    return control.attach(element, (at) => setHovered(at));
  }, [control]);
  useEffect(() => control.repaintCells(), [control, props.version, theme, model]);
  useEffect(() => control.paint(), [props.disputed, selected]);
  const move = (dx: number, dy: number) => {
    const { shape } = model;
    const { x, y } = selected === undefined ? { x: 0, y: 0 } : cellOf(shape, selected);
    const next = {
      x: Math.min(shape.columns - 1, Math.max(0, x + (selected === undefined ? 0 : dx))),
      y: Math.min(shape.rows - 1, Math.max(0, y + (selected === undefined ? 0 : dy))),
    };
    const index = lookup(shape)[next.y * shape.columns + next.x] as number;
    onSelect(index);
    control.show(next);
  };
  const onKey = (event: KeyboardEvent) => {
    const steps: Record<string, () => void> = {
      ArrowLeft: () => move(-1, 0),
      ArrowRight: () => move(1, 0),
      ArrowUp: () => move(0, -1),
      ArrowDown: () => move(0, 1),
      '+': () => control.zoom(1.5),
      '=': () => control.zoom(1.5),
      '-': () => control.zoom(1 / 1.5),
      '0': () => control.fit(),
      Enter: () => selected !== undefined && onOpen(selected),
    };
    const step = steps[event.key];
    if (step === undefined || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    event.stopPropagation();
    step();
  };
  const { capacity } = model.cidr;
  return (
    <div class="map">
      {/* biome-ignore lint/a11y/noInteractiveElementToNoninteractiveRole: a map that is walked by arrow keys has no element of its own */}
      <canvas
        ref={canvas}
        tabIndex={0}
        role="application"
        aria-label={`Map of ${model.cidr.cidr}, ${capacity} blocks. Arrow keys move, plus and minus zoom, Enter opens the owner. The table lists the same.`}
        onKeyDown={onKey}
        onDblClick={() => hovered && onOpen(hovered.index)}
      />
      <fieldset class="map-tools">
        <legend class="unseen">Zoom</legend>
        <button type="button" aria-label="Closer" onClick={() => control.zoom(1.6)}>
          +
        </button>
        <button type="button" aria-label="Further" onClick={() => control.zoom(1 / 1.6)}>
          −
        </button>
        <button type="button" aria-label="All of it" onClick={() => control.fit()}>
          ⤢
        </button>
      </fieldset>
      {hovered && <Tip model={model} {...hovered} />}
    </div>
  );
}

function Tip({ model, index, x, y }: { model: SpaceModel; index: number; x: number; y: number }) {
  const tip = useRef<HTMLDivElement>(null);
  const block = model.blocks[index];
  const state = stateAt(model, index);
  useEffect(() => {
    const element = tip.current;
    const box = element?.parentElement?.getBoundingClientRect();
    if (!element || !box) return;
    const left = Math.min(x + 14, box.width - element.offsetWidth - 6);
    const above = y + 18 + element.offsetHeight > box.height;
    element.style.transform = `translate(${Math.max(6, left)}px, ${above ? y - element.offsetHeight - 10 : y + 16}px)`;
  });
  return (
    <div class="tip" ref={tip} aria-hidden="true">
      <b>{cidrAt(model, index)}</b>
      <span>{block ? block.node || block.phase : state}</span>
      {block && block.phase !== 'Active' && <span>{block.phase}</span>}
    </div>
  );
}

/** What the pointer does to the map; kept outside of rendering, because a drag is sixty of them a second. */
class MapControl {
  props: SpaceMapProps | undefined;
  #canvas: HTMLCanvasElement | undefined;
  #context: CanvasRenderingContext2D | null = null;
  #picture: ReturnType<typeof paintCells> | undefined;
  #ink: ReturnType<typeof readInk> | undefined;
  #sight: Sight = { scale: 1, left: 0, top: 0 };
  #width = 0;
  #height = 0;
  #frame = 0;
  #hovered: number | undefined;
  #isTouched = false;
  readonly #pointers = new Map<number, { x: number; y: number }>();

  attach(
    canvas: HTMLCanvasElement,
    onHover: (at: { index: number; x: number; y: number } | undefined) => void,
  ): () => void {
    this.#canvas = canvas;
    this.#context = canvas.getContext('2d', { alpha: false });
    const sizes = new ResizeObserver(() => this.#resize());
    sizes.observe(canvas);
    let dragged = 0;
    const at = (event: PointerEvent | WheelEvent) => {
      const box = canvas.getBoundingClientRect();
      return { x: event.clientX - box.left, y: event.clientY - box.top };
    };
    const hover = (event: PointerEvent) => {
      const place = at(event);
      const index = this.#indexAt(place);
      if (index !== this.#hovered) this.paint();
      this.#hovered = index;
      onHover(index === undefined ? undefined : { index, ...place });
    };
    canvas.addEventListener('pointerdown', (event) => {
      canvas.setPointerCapture(event.pointerId);
      this.#pointers.set(event.pointerId, at(event));
      dragged = 0;
    });
    canvas.addEventListener('pointermove', (event) => {
      const before = this.#pointers.get(event.pointerId);
      if (before === undefined) return hover(event);
      const now = at(event);
      const others = [...this.#pointers].filter(([id]) => id !== event.pointerId);
      const [other] = others.map(([, place]) => place);
      if (other !== undefined) {
        const far = Math.hypot(now.x - other.x, now.y - other.y);
        const was = Math.hypot(before.x - other.x, before.y - other.y);
        this.zoom(far / Math.max(1, was), other);
      }
      dragged += Math.abs(now.x - before.x) + Math.abs(now.y - before.y);
      this.#sight.left += (now.x - before.x) / (others.length + 1);
      this.#sight.top += (now.y - before.y) / (others.length + 1);
      this.#isTouched = true;
      this.#pointers.set(event.pointerId, now);
      onHover(undefined);
      this.paint();
    });
    const release = (event: PointerEvent) => {
      this.#pointers.delete(event.pointerId);
      if (event.type !== 'pointerup' || dragged > 5) return;
      const index = this.#indexAt(at(event));
      if (index !== undefined) this.props?.onSelect(index);
    };
    canvas.addEventListener('pointerup', release);
    canvas.addEventListener('pointercancel', release);
    canvas.addEventListener('pointerleave', () => {
      this.#hovered = undefined;
      onHover(undefined);
      this.paint();
    });
    canvas.addEventListener(
      'wheel',
      (event) => {
        event.preventDefault();
        this.zoom(Math.exp(-event.deltaY * (event.ctrlKey ? 0.01 : 0.0016)), at(event));
      },
      { passive: false },
    );
    return () => {
      sizes.disconnect();
      cancelAnimationFrame(this.#frame);
    };
  }

  repaintCells(): void {
    if (this.props === undefined) return;
    this.#ink = readInk();
    this.#picture = paintCells(this.props.model, this.#ink, this.props.tintOf);
    this.paint();
  }

  zoom(factor: number, about = { x: this.#width / 2, y: this.#height / 2 }): void {
    const { scale, left, top } = this.#sight;
    const next = Math.min(maxScale, Math.max(this.#fitScale() * 0.8, scale * factor));
    const ratio = next / scale;
    this.#sight = {
      scale: next,
      left: about.x - (about.x - left) * ratio,
      top: about.y - (about.y - top) * ratio,
    };
    this.#isTouched = true;
    this.paint();
  }

  fit(): void {
    const shape = this.props?.model.shape;
    if (shape === undefined) return;
    const scale = this.#fitScale();
    this.#sight = {
      scale,
      left: (this.#width - shape.columns * scale) / 2,
      top: (this.#height - shape.rows * scale) / 2,
    };
    this.#isTouched = false;
    this.paint();
  }

  /** Brings a cell into sight, and no more than that. */
  show({ x, y }: { x: number; y: number }): void {
    const { scale } = this.#sight;
    const edge = Math.min(60, this.#width / 4);
    const left = this.#sight.left + x * scale;
    const top = this.#sight.top + y * scale;
    if (left < edge) this.#sight.left += edge - left;
    if (left + scale > this.#width - edge) this.#sight.left -= left + scale - this.#width + edge;
    if (top < edge) this.#sight.top += edge - top;
    if (top + scale > this.#height - edge) this.#sight.top -= top + scale - this.#height + edge;
    this.paint();
  }

  paint(): void {
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0;
      this.#paintNow();
    });
  }

  #paintNow(): void {
    const { props } = this;
    if (!this.#context || !props || !this.#picture || !this.#ink) return;
    const ratio = window.devicePixelRatio || 1;
    this.#context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const { model } = props;
    paintMap({
      context: this.#context,
      width: this.#width,
      height: this.#height,
      sight: this.#sight,
      model,
      picture: this.#picture,
      ink: this.#ink,
      disputed: props.disputed,
      selected: props.selected,
      hovered: this.#hovered,
      nameAt: (index) => ({
        title: cidrAt(model, index),
        subtitle: model.blocks[index]?.node ?? '',
      }),
    });
  }

  #resize(): void {
    const canvas = this.#canvas;
    if (canvas === undefined) return;
    const ratio = window.devicePixelRatio || 1;
    const isFirst = this.#width === 0;
    this.#width = canvas.clientWidth;
    this.#height = canvas.clientHeight;
    canvas.width = Math.round(this.#width * ratio);
    canvas.height = Math.round(this.#height * ratio);
    if (isFirst || !this.#isTouched) this.fit();
    // At once: a canvas that was given a new size is empty until it is painted.
    this.#paintNow();
  }

  #fitScale(): number {
    const shape = this.props?.model.shape;
    if (shape === undefined || this.#width === 0) return 1;
    return Math.min((this.#width - 16) / shape.columns, (this.#height - 16) / shape.rows);
  }

  #indexAt({ x, y }: { x: number; y: number }): number | undefined {
    const shape = this.props?.model.shape;
    if (shape === undefined) return undefined;
    const column = Math.floor((x - this.#sight.left) / this.#sight.scale);
    const row = Math.floor((y - this.#sight.top) / this.#sight.scale);
    if (column < 0 || row < 0 || column >= shape.columns || row >= shape.rows) return undefined;
    return lookup(shape)[row * shape.columns + column];
  }
}
