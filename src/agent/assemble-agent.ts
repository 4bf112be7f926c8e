/**
 * The agent put together, once for everybody who runs one: `cadastre agent` on the
 * machine's kernel, `cadastre up` on kernels in memory, tests with a speaker that
 * records. They differ in the world that they pass, never in the wiring.
 *
 *   status ◀─ CNI server, socket    what they ask: ready? which MTU? what is wrong?
 *   status ◀─ agent                 which states it
 *   addresses ◀─ agent              the blocks to give addresses from
 *
 * The socket opens before the blocks are known: DEL works from the journal, and
 * an ADD is answered with what the node waits for. An agent that only announces has
 * no addresses: its socket shows its status and nothing else.
 */
import { mkdir } from 'node:fs/promises';
import type { HealthCheck, HealthChecks } from '../base/health-routes.ts';
import { AddressService } from './address-service.ts';
import { Agent } from './agent.ts';
import type { AgentSettings } from './agent-settings.ts';
import { AgentStatus } from './agent-status.ts';
import type { AgentWorld } from './agent-world.ts';
import { startStatusService } from './status-service.ts';

export interface AssembledAgent {
  readonly status: AgentStatus;
  /** Undefined if it only announces. */
  readonly addresses: AddressService | undefined;
  /** What /readyz says. */
  readonly readiness: HealthChecks;
  /** Until the signal aborts; `how` is asked then. */
  run(signal: AbortSignal, how?: () => 'restart' | 'drain'): Promise<void>;
  /** After `run` has ended. */
  close(): Promise<void>;
}

export async function assembleAgent(
  world: AgentWorld,
  settings: AgentSettings,
): Promise<AssembledAgent> {
  const { clock, log, logLevel } = world;
  const { stateFolder, socketPath, scope = 'node' } = settings;
  await mkdir(stateFolder, { recursive: true, mode: 0o700 });
  const status = new AgentStatus(settings, clock, log);
  const agentStatus = () => status.json();
  const addresses =
    scope === 'announcements' ? undefined : await startAddresses(world, settings, status);
  const stop =
    addresses === undefined
      ? await startStatusService({ stateFolder, socketPath, agentStatus, log, logLevel })
      : () => addresses.stop();
  const agent = new Agent(world, settings, { status, addresses });
  return {
    status,
    addresses,
    readiness: new Map([['blocks', () => blocksCheck(status)], ...agent.readiness]),
    run: (signal, how) => agent.run(signal, how),
    close: stop,
  };
}

function startAddresses(
  { kernel, files, clock, log, logLevel, metrics }: AgentWorld,
  settings: AgentSettings,
  status: AgentStatus,
): Promise<AddressService> {
  const { stateFolder, socketPath, version, restMs, sweepEveryMs, scope = 'node' } = settings;
  return AddressService.start({
    stateFolder,
    socketPath,
    version,
    restMs,
    sweepEveryMs,
    wires: scope === 'node',
    driver: kernel,
    files,
    clock,
    log,
    logLevel,
    metrics,
    mtu: () => status.podMtu,
    limitation: () => status.limitation,
    notReady: () => status.whyNotReady,
    agentStatus: () => status.json(),
  });
}

function blocksCheck({ state }: AgentStatus): HealthCheck {
  return { isOk: state.isReady, says: `${state.reason}: ${state.detail}` };
}
