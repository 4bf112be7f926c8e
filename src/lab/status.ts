/** What a lab is made of and how each part is, for `lab status`. */
import { describeError } from '../base/errors.ts';
import type { ReportedSession } from '../model/node-report-status.ts';
import type { LabPod } from './folder.ts';
import type { Lab } from './lab.ts';
import { isAnswering } from './reach.ts';
import type { HeldRoute } from './routers/router.ts';
import { isReachableFromOutside, type Software } from './topology.ts';

export interface LabStatus {
  readonly kind: 'LabStatus';
  readonly name: string;
  readonly topology: string;
  readonly createdAt: string;
  readonly isUp: boolean;
  readonly folder: string;
  readonly kubeconfig: string;
  readonly operators: ReadonlyArray<{ readonly name: string; readonly isRunning: boolean }>;
  readonly nodes: readonly LabNodeStatus[];
  readonly routers: readonly LabRouterStatus[];
  readonly pods: ReadonlyArray<LabPod & { readonly answersOutside: boolean }>;
}

interface LabNodeStatus {
  readonly name: string;
  readonly address: string;
  readonly reason: string;
  readonly detail: string;
  readonly blocks: readonly string[];
  readonly sessions: readonly ReportedSession[];
}

interface LabRouterStatus {
  readonly name: string;
  readonly address: string;
  readonly asn: number | undefined;
  readonly software: Software;
  readonly isRunning: boolean;
  readonly routes: readonly HeldRoute[];
}

export async function readStatus(lab: Lab): Promise<LabStatus> {
  const { manifest, topology } = lab;
  const outside = lab.namespace('outside');
  const isOpen = isReachableFromOutside(topology);
  const [nodes, routers, pods] = await Promise.all([
    Promise.all(topology.nodes.map((node) => readNode(lab, node.name))),
    Promise.all(topology.routers.map((router) => readRouter(lab, router.name))),
    Promise.all(
      manifest.pods.map(async (pod) => ({
        ...pod,
        answersOutside:
          isOpen &&
          (await Promise.all(pod.addresses.map((one) => isAnswering(outside, one)))).every(Boolean),
      })),
    ),
  ]);
  const operators: Array<{ name: string; isRunning: boolean }> = [];
  for (let index = 1; lab.processes.hasRun(lab.operatorName(index)); index++) {
    const name = lab.operatorName(index);
    operators.push({ name, isRunning: lab.processes.isRunning(name) });
  }
  return {
    kind: 'LabStatus',
    name: lab.name,
    topology: topology.name,
    createdAt: manifest.createdAt,
    isUp: manifest.isUp,
    folder: lab.folder.path,
    kubeconfig: lab.kubeconfigPath,
    operators,
    nodes,
    routers,
    pods,
  };
}

async function readNode(lab: Lab, name: string): Promise<LabNodeStatus> {
  const address = lab.node(name).addresses.ipv4 ?? '';
  try {
    const { agent, ...addresses } = await lab.agentStatus(name);
    const { reason, detail, sessions } = agent;
    const blocks = addresses.blocks.map(({ cidr }) => cidr);
    return { name, address, reason, detail, blocks, sessions };
  } catch (error) {
    const detail = describeError(error);
    return { name, address, reason: 'NoAgent', detail, blocks: [], sessions: [] };
  }
}

async function readRouter(lab: Lab, name: string): Promise<LabRouterStatus> {
  const { address, asn } = lab.router(name);
  const software = lab.manifest.software[name] ?? 'none';
  const isRunning = lab.isRouterRunning(name);
  const routes = isRunning ? await lab.tableOf(name) : [];
  return { name, address, asn, software, isRunning, routes };
}
