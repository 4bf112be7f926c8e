/** One site of the story, drawn: machines, sessions, the routes in use, pings. */
import type { StoryNodeRow, StoryPingRow, StorySiteRow } from '../story-row.ts';
import { StoryDots } from './story-dots.tsx';
import { type Box, bow, planOf, type SitePlan, shapesOf } from './story-geometry.ts';
import { useNarrow } from './use-narrow.ts';

export type PodState = 'straight' | 'detour' | 'lost' | 'none';

/** The worst of what happens to pings to it. */
export function podState(pings: readonly StoryPingRow[]): PodState {
  for (const way of ['lost', 'detour', 'straight'] as const) {
    if (pings.some((ping) => ping.way === way)) return way;
  }
  return 'none';
}

export function StoryDrawing({ site, label }: { site: StorySiteRow; label: string }) {
  const shapes = shapesOf(useNarrow());
  const plan = planOf(site, shapes);
  const { sheet } = shapes;
  return (
    <svg class="story-map" viewBox={`0 0 ${sheet.width} ${sheet.height}`} role="img">
      <title>{label}</title>
      <Uplinks plan={plan} />
      <Sessions site={site} plan={plan} />
      <Bows site={site} plan={plan} />
      <StoryDots pings={site.pings} plan={plan} />
      <g class="story-outside">
        <rect x={plan.outside.x - 44} y={plan.outside.y - 13} width="88" height="26" rx="13" />
        <text x={plan.outside.x} y={plan.outside.y + 4}>
          outside
        </text>
      </g>
      {site.routers.map(({ name, asn, routes, sessions }) => {
        const at = plan.routers.get(name);
        return (
          at && (
            <g key={name} class="story-router" data-router={name}>
              <rect {...boxAt(at, shapes.router)} rx="6" />
              <text class="story-name" x={at.x} y={at.y - 4}>
                {name}
              </text>
              <text class="story-note" x={at.x} y={at.y + 13}>
                {sessions.length === 0 ? `AS ${asn}` : `AS ${asn} · ${routes.length} routes`}
              </text>
            </g>
          )
        );
      })}
      {site.nodes.map((node) => (
        <NodeBox key={node.name} node={node} site={site} plan={plan} />
      ))}
    </svg>
  );
}

function Uplinks({ plan: { outside, routers } }: { plan: SitePlan }) {
  return (
    <g class="story-uplinks">
      {[...routers].map(([name, { x, y }]) => (
        <line key={name} x1={outside.x} y1={outside.y} x2={x} y2={y} />
      ))}
    </g>
  );
}

/** A line for each session; red where the router sends another node's block that way. */
function Sessions({ site, plan }: { site: StorySiteRow; plan: SitePlan }) {
  return (
    <g class="story-sessions">
      {site.routers.flatMap(({ name: router, sessions, routes }) =>
        site.nodes.map(({ name: node }) => {
          const from = plan.routers.get(router);
          const to = plan.nodes.get(node);
          if (from === undefined || to === undefined) return null;
          const isUp = sessions.includes(node);
          const isWrong = routes.some((route) => route.node === node && route.owner !== node);
          const style = !isUp ? 'down' : isWrong ? 'wrong' : 'right';
          return (
            <line
              key={`${router} ${node}`}
              class={`session-${style}`}
              data-session={`${router} ${node} ${style}`}
              x1={from.x}
              y1={from.y + plan.shapes.router.height / 2}
              x2={to.x}
              y2={to.y - plan.shapes.node.height / 2}
            />
          );
        }),
      )}
    </g>
  );
}

/** Where a node passes on what is not its own. */
function Bows({ site, plan }: { site: StorySiteRow; plan: SitePlan }) {
  const passed = new Map<string, string>();
  for (const { way, hops } of site.pings) {
    if (way !== 'detour') continue;
    const [from, to] = hops.slice(-2);
    const start = from === undefined ? undefined : plan.nodes.get(from);
    const end = to === undefined ? undefined : plan.nodes.get(to);
    if (start !== undefined && end !== undefined)
      passed.set(`${from} ${to}`, bow(plan.shapes, start, end));
  }
  return (
    <g class="story-bows">
      <marker
        id={`arrow-${site.id}`}
        viewBox="0 0 8 8"
        refX="4"
        refY="4"
        markerWidth="6"
        markerHeight="6"
        orient="auto"
      >
        <path d="M0 0L8 4L0 8z" />
      </marker>
      {[...passed].map(([key, path]) => (
        <path key={key} d={path} data-passed={key} marker-end={`url(#arrow-${site.id})`} />
      ))}
    </g>
  );
}

function NodeBox(props: { node: StoryNodeRow; site: StorySiteRow; plan: SitePlan }) {
  const { node, site, plan } = props;
  const { name, address, block, spec, state } = node;
  const at = plan.nodes.get(name);
  const pod = plan.pods.get(name);
  if (at === undefined || pod === undefined) return null;
  const { node: nodeBox, pod: podBox, isNarrow } = plan.shapes;
  const pings = site.pings.filter((ping) => ping.node === name);
  const answer = podState(pings);
  const isOther = spec !== '' && spec !== block;
  const where = state === 'drained' ? 'drained' : state === 'gone' ? 'deleted' : address;
  const specText =
    spec === '' ? (isNarrow ? '–' : 'Node.spec –') : isNarrow ? spec : `spec ${spec}`;
  const lines: Array<[text: string, style: string]> = [
    [name, 'story-name'],
    ...(isNarrow && where === address ? [] : [[where, 'story-note'] as [string, string]]),
    [isNarrow ? block : `has ${block}`, 'story-mono story-block'],
    [specText, `story-mono ${isOther ? 'story-other' : ''}`],
  ];
  const words = { straight: 'answers', detour: 'by a detour', lost: 'no answer', none: '' };
  return (
    <g class={`story-node node-${state}`} data-node={name} data-state={state}>
      {answer !== 'none' && (
        <g class={`story-pod pod-${answer}`} data-pod={name} data-answer={answer}>
          <line x1={at.x} y1={at.y + nodeBox.height / 2} x2={pod.x} y2={pod.y} />
          <rect {...boxAt(pod, podBox)} rx={podBox.height / 2} />
          <text class="story-mono" x={pod.x} y={pod.y - 3}>
            {pings[0]?.address}
          </text>
          <text class="story-note" x={pod.x} y={pod.y + 12}>
            {words[answer]}
          </text>
        </g>
      )}
      <rect {...boxAt(at, nodeBox)} rx="6" />
      {lines.map(([text, style], index) => (
        <text key={style} class={style} x={at.x} y={at.y - nodeBox.height / 2 + 17 + 15.7 * index}>
          {text}
        </text>
      ))}
    </g>
  );
}

function boxAt({ x, y }: { x: number; y: number }, box: Box) {
  return { x: x - box.width / 2, y: y - box.height / 2, ...box };
}
