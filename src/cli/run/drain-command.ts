import type { Command } from 'commander';
import { CadastreError } from '../../base/errors.ts';
import { ApiError } from '../../kube/api-error.ts';
import { pause } from '../../kube/backoff.ts';
import type { KubeClient } from '../../kube/client.ts';
import { getIfThere } from '../../kube/get-if-there.ts';
import { apiVersion, drainAnnotation, outOfServiceTaint } from '../../model/keys.ts';
import { type ClusterNode, readNode } from '../../model/node.ts';
import type { NodeReportStatus } from '../../model/node-report-status.ts';
import type { KubeObject } from '../../model/object.ts';
import { nodeReports, nodes } from '../../model/resources.ts';
import { readSeconds } from '../numbers.ts';
import { type Format, plainOutputFlag, printAnswer } from '../output.ts';
import type { Terminal } from '../terminal.ts';
import { addClusterFlags, withClient } from '../view/view-flags.ts';

interface DrainFlags {
  kubeconfig?: string;
  context?: string;
  undo?: boolean;
  timeout: string;
  output: Format;
}

/**
 * `cadastre drain NODE`: its routes are withdrawn from the routers, and every
 * step is said as the node's own report shows it. Pods are not touched: that is
 * `kubectl drain`, before or after.
 */
export function registerDrain(program: Command, terminal: Terminal): void {
  const command = program
    .command('drain')
    .argument('<node>')
    .description(
      "withdraw a node's routes from its routers before it is taken out, or announce them again",
    )
    .option('--undo', 'announce its blocks again')
    .option('--timeout <seconds>', 'how long to wait for the report of its agent', '60')
    .addOption(plainOutputFlag());
  addClusterFlags(command)
    .addHelpText(
      'after',
      `
Exit code: 0 if the agent reports it done, 1 if not yet.

Examples:
  $ cadastre whatif drain node1     # who would lose what
  $ cadastre drain node1            # first GRACEFUL_SHUTDOWN, then withdraw
  $ cadastre drain node1 --undo

A cordon, a shutdown of the machine and the taint ${outOfServiceTaint}
lead to the same steps without this command (docs/agent.md).`,
    )
    .action((node: string, flags: DrainFlags) => runDrain(node, flags, terminal));
}

async function runDrain(node: string, flags: DrainFlags, terminal: Terminal): Promise<void> {
  const seconds = readSeconds('--timeout', flags.timeout, 0, 3600);
  await withClient(flags, terminal, async (client) => {
    const isUndo = flags.undo === true;
    const body = { metadata: { annotations: { [drainAnnotation]: isUndo ? null : 'true' } } };
    const patch = client.patch(nodes, node, { type: 'merge', body });
    const patched = await patch.catch((error: unknown) => {
      if (!(error instanceof ApiError) || !error.isNotFound) throw error;
      throw new CadastreError('BAD_INPUT', `there is no Node ${node}`, {
        cause: error,
        remedy: 'cadastre nodes lists them.',
      });
    });
    terminal.say(isUndo ? `${node} is to announce its routes again` : `${node} is to be drained`);
    const others = isUndo ? otherSigns(readNode(patched as KubeObject)) : [];
    for (const sign of others) terminal.say(`${node} ${sign}`);
    const wish = isUndo ? (others.length > 0 ? 'undo-one' : 'undo') : 'drain';
    const { isDone, report } = await follow(client, node, wish, terminal, seconds * 1000);
    if (!isDone) {
      terminal.say(
        `the agent of ${node} has not reported it within ${seconds} s; the annotation stays`,
      );
      terminal.exitCode = 1;
    }
    const { drain, sessions = [] } = report ?? {};
    await printAnswer(terminal, flags.output, {
      data: {
        apiVersion,
        kind: 'Drain',
        node,
        isUndo,
        isDone,
        steps: drain?.steps ?? [],
        sessions,
      },
      names: [],
      table: () => '',
    });
  });
}

/** Why a node goes on withdrawing routes without our annotation, and what ends that. */
function otherSigns({ name, isCordoned, isShuttingDown, isOutOfService }: ClusterNode): string[] {
  return [
    ...(isCordoned
      ? [
          `is still cordoned, and withdraws what its agent's --on-cordon says: kubectl uncordon ${name}`,
        ]
      : []),
    ...(isShuttingDown ? ['is still shutting down, by the word of its kubelet'] : []),
    ...(isOutOfService
      ? [`still has the taint: kubectl taint node ${name} ${outOfServiceTaint}-`]
      : []),
  ];
}

/** `undo-one`: the annotation is gone, and the node has another reason to withdraw routes. */
type Wish = 'drain' | 'undo' | 'undo-one';

async function follow(
  client: KubeClient,
  node: string,
  wish: Wish,
  terminal: Terminal,
  withinMs: number,
): Promise<{ isDone: boolean; report: NodeReportStatus | undefined }> {
  const deadlineMs = terminal.clock.monotonicMs() + withinMs;
  const said = new Set<string>();
  const sayOnce = (line: string) => {
    if (!said.has(line)) terminal.say(line);
    said.add(line);
  };
  let report: NodeReportStatus | undefined;
  do {
    const found = await getIfThere(client, nodeReports, node);
    report = found?.status as NodeReportStatus | undefined;
    const up = (report?.sessions ?? []).filter(({ state }) => state === 'Established');
    const steps = report?.drain?.steps ?? [];
    if (wish === 'drain') {
      for (const { step, detail } of steps.filter((one) => one.step !== 'Asked')) {
        sayOnce(`${step}: ${detail}`);
      }
      if (steps.some(({ step }) => step === 'Withdrawn')) {
        for (const { peer, address } of up) sayOnce(`${peer} (${address}): everything withdrawn`);
        return { isDone: true, report };
      }
    } else if (wish === 'undo-one' && steps[0]?.detail.includes(drainAnnotation) === false) {
      for (const { step, detail } of steps) sayOnce(`${step}: ${detail}`);
      return { isDone: true, report };
    } else if (report !== undefined && steps.length === 0) {
      const isAnnounced = ({ announced }: (typeof up)[number]) => announced.length > 0;
      for (const { peer, address, announced } of up.filter(isAnnounced)) {
        sayOnce(
          `${peer} (${address}): announced ${announced.map(({ prefix }) => prefix).join(', ')}`,
        );
      }
      if (report.sessions.length === 0) sayOnce(`${node} has no BGP session`);
      const isDone = report.sessions.length === 0 || (up.length > 0 && up.every(isAnnounced));
      if (isDone) return { isDone, report };
    }
    await pause(500);
  } while (terminal.clock.monotonicMs() < deadlineMs);
  return { isDone: false, report };
}
