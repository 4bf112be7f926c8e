/** Causes, most pods hurt first; below each what it brought about. */
import type { CauseRow, FindingRow } from '../rows.ts';
import { address, subjectAddress } from './location.ts';
import { BlockLink, Empty, Mark, NodeLink, type Tone } from './parts.tsx';
import { store } from './store.ts';

const tones: Record<FindingRow['severity'], Tone> = {
  critical: 'bad',
  warning: 'warn',
  info: 'calm',
};

/** So many causes are drawn; below each, so many findings. */
const mostShown = 50;

export function FindingList({ findings }: { findings: ReadonlyMap<string, FindingRow> }) {
  if (findings.size === 0) return <Empty>Nothing was found among what could be seen.</Empty>;
  const causes = store.all('cause').sort((a, b) => a.at - b.at);
  return (
    <>
      <ul class="findings">
        {causes.slice(0, mostShown).map((cause) => (
          <li key={cause.id}>
            <OneCause cause={cause} findings={findings} />
          </li>
        ))}
      </ul>
      {causes.length > mostShown && (
        <p class="muted small">{`and ${causes.length - mostShown} more, which hurt fewer pods; the command below prints all`}</p>
      )}
    </>
  );
}

function OneCause({ cause, findings }: { cause: CauseRow; findings: FindingMap }) {
  const own = cause.findings.flatMap((id) => findings.get(id) ?? []);
  const [first] = own;
  if (own.length <= 1) {
    return first === undefined ? null : <OneFinding finding={first} hurt={hurtWords(cause)} />;
  }
  return (
    <details class="cause" open={cause.at === 0}>
      <summary>
        <Mark tone={tones[cause.severity]}>{cause.reason}</Mark>{' '}
        <b class="finding-about">{cause.title}</b>
        <span class="finding-hurt">{`${own.length} findings · ${hurtWords(cause)}`}</span>
      </summary>
      {cause.subject !== null && (
        <p class="small">
          Look at <a href={subjectAddress(cause.subject)}>{cause.subject.name}</a>
        </p>
      )}
      <ul class="findings below">
        {own.slice(0, mostShown).map((finding) => (
          <li key={finding.id}>
            <OneFinding finding={finding} hurt={nowWords(finding)} />
          </li>
        ))}
        {own.length > mostShown && (
          <li class="muted small">{`and ${own.length - mostShown} more of the same`}</li>
        )}
      </ul>
    </details>
  );
}

type FindingMap = ReadonlyMap<string, FindingRow>;

function OneFinding({ finding, hurt }: { finding: FindingRow; hurt: string }) {
  const routers = store.map('router');
  return (
    <details>
      <summary>
        <Mark tone={tones[finding.severity]}>{finding.reason}</Mark>{' '}
        <span class="finding-about">
          {finding.node} {finding.prefix}
        </span>
        <span class="finding-hurt">{hurt}</span>
      </summary>
      <dl class="pairs">
        {Object.entries(finding.says).map(([source, value]) => (
          <>
            <dt>{source}</dt>
            <dd class="mono">
              {value}
              {routers.has(source) && finding.prefix !== '' && (
                <>
                  {' '}
                  <a
                    href={`${subjectAddress({ kind: 'router', name: source })}?filter=${encodeURIComponent(finding.prefix)}`}
                  >
                    its line in the table of {source}
                  </a>
                </>
              )}
            </dd>
          </>
        ))}
        {finding.owner !== '' && (
          <>
            <dt>owner</dt>
            <dd>
              <NodeLink name={finding.owner} />
            </dd>
          </>
        )}
        {finding.prefix !== '' && !finding.prefix.includes(',') && (
          <>
            <dt>block</dt>
            <dd>
              <BlockLink cidr={finding.prefix} />
            </dd>
          </>
        )}
        {finding.hurtsIf.map(({ event, nodes, prefixes }) => (
          <>
            <dt>if {event}</dt>
            <dd>{`${nodes.join(', ')} would lose ${prefixes.join(', ')}`}</dd>
          </>
        ))}
      </dl>
      {finding.fix !== '' && (
        <p class="fix">
          <b>Cure</b> {finding.fix}
        </p>
      )}
      <p class="small">
        <a href={address('events', '', { find: finding.prefix || finding.node })}>What happened</a>
      </p>
    </details>
  );
}

function hurtWords({ podsHurt, nodesHurt, podsAtRisk, nodesAtRisk }: CauseRow): string {
  const words = (pods: number, nodes: readonly string[]) =>
    `${pods > 0 ? `${pods} pods on ` : ''}${nodes.length} ${nodes.length === 1 ? 'node' : 'nodes'}`;
  if (nodesHurt.length > 0) return `hurts ${words(podsHurt, nodesHurt)}`;
  return nodesAtRisk.length > 0
    ? `one event away for ${words(podsAtRisk, nodesAtRisk)}`
    : 'nobody is hurt now';
}

function nowWords({ hurtsNow }: FindingRow): string {
  return hurtsNow.length === 0 ? 'nobody is hurt now' : `hurts ${hurtsNow.join(', ')}`;
}
