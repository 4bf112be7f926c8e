import type { FindingRow } from '../rows.ts';
import { BlockLink, Empty, Mark, NodeLink, type Tone } from './parts.tsx';

const tones: Record<FindingRow['severity'], Tone> = {
  critical: 'bad',
  warning: 'warn',
  info: 'calm',
};
const order = ['critical', 'warning', 'info'];

export function FindingList({ findings }: { findings: readonly FindingRow[] }) {
  if (findings.length === 0) {
    return <Empty>Nothing was found among what could be seen.</Empty>;
  }
  const sorted = [...findings].sort(
    (a, b) =>
      order.indexOf(a.severity) - order.indexOf(b.severity) ||
      a.reason.localeCompare(b.reason) ||
      a.node.localeCompare(b.node, 'en', { numeric: true }),
  );
  return (
    <ul class="findings">
      {sorted.slice(0, 100).map((finding) => (
        <li key={finding.id}>
          <details>
            <summary>
              <Mark tone={tones[finding.severity]}>{finding.reason}</Mark>{' '}
              <span class="finding-about">
                {finding.node} {finding.prefix}
              </span>
              <span class="finding-hurt">
                {finding.hurtsNow.length === 0
                  ? 'nobody is hurt now'
                  : `hurts ${finding.hurtsNow.join(', ')}`}
              </span>
            </summary>
            <dl class="pairs">
              {Object.entries(finding.says).map(([source, value]) => (
                <>
                  <dt>{source}</dt>
                  <dd class="mono">{value}</dd>
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
              {finding.prefix !== '' && (
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
          </details>
        </li>
      ))}
    </ul>
  );
}
