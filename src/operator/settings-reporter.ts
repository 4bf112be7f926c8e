import { describeError } from '../base/errors.ts';
import { pause } from '../kube/backoff.ts';
import { getIfThere } from '../kube/get-if-there.ts';
import type { KubeObject } from '../model/object.ts';
import {
  type OperatorReportSpec,
  operatorReportName,
  writeOperatorReport,
} from '../model/operator-report.ts';
import { operatorReports } from '../model/resources.ts';
import type { OperatorBase } from './operator-base.ts';
import type { OperatorSettings } from './operator-settings.ts';
import type { Terms } from './terms.ts';

interface SettingsReporterOptions extends Pick<OperatorBase, 'client' | 'log'> {
  settings: OperatorSettings;
  terms: Pick<Terms, 'isLeading' | 'assertLeading'>;
}

/** How soon a new leader writes it; how long a failed write is waited for. */
const soonMs = 1_000;

/**
 * Writes down how this operator was started (OperatorReport), while it leads: once, and
 * again when somebody deleted or changed it. Whoever may not write it says so once; blocks
 * do not wait for it.
 */
export class SettingsReporter {
  readonly #o: SettingsReporterOptions;
  #lastFault = '';

  constructor(options: SettingsReporterOptions) {
    this.#o = options;
  }

  /** Until the signal aborts. Never throws. */
  async run(signal: AbortSignal): Promise<void> {
    const { terms, settings } = this.#o;
    while (!signal.aborted) {
      const isWritten = terms.isLeading && (await this.#try());
      await pause(isWritten ? settings.intervals.surroundingsMs : soonMs, signal);
    }
  }

  async #try(): Promise<boolean> {
    const { log } = this.#o;
    try {
      await this.write();
      this.#lastFault = '';
      return true;
    } catch (error) {
      const fault = describeError(error);
      const words = 'could not write the OperatorReport: commands need the flags of the operator';
      log[fault === this.#lastFault ? 'debug' : 'warn']?.({ error: fault }, words);
      this.#lastFault = fault;
      return false;
    }
  }

  async write(): Promise<void> {
    const { client, settings, terms } = this.#o;
    const body = writeOperatorReport(reportOf(settings));
    const stored = await getIfThere<KubeObject>(client, operatorReports, operatorReportName);
    if (stored !== undefined && isSame(stored.spec, body.spec)) return;
    terms.assertLeading();
    if (stored === undefined) await client.create(operatorReports, body);
    else {
      const { resourceVersion } = stored.metadata ?? {};
      const metadata = { ...body.metadata, resourceVersion };
      await client.replace(operatorReports, operatorReportName, { ...body, metadata });
    }
  }
}

/** What these settings are, as the object says it. */
export function reportOf(settings: OperatorSettings): OperatorReportSpec {
  const { mode, rules, clusterPool, serviceNetworks, sources, switches, configMap } = settings;
  const isUsual = sources.join() === mode.adoptsFrom.join();
  const ofFamily = (family: 'ipv4' | 'ipv6') => {
    const maskSize = clusterPool?.blockSize[family];
    if (clusterPool === undefined || maskSize === undefined) return {};
    const cidrs = clusterPool.cidrs.filter((cidr) => cidr.family === family).map(String);
    return { [family]: { cidrs, maskSize } };
  };
  const { releaseByTimeSeconds, maxBlocksPerNode } = clusterPool ?? {};
  return {
    mode: mode.name,
    ...(settings.version === '' ? {} : { version: settings.version }),
    identity: settings.lease.identity,
    ...(rules.families === 'auto' ? {} : { families: [...rules.families] }),
    ...(clusterPool === undefined
      ? {}
      : {
          clusterPool: {
            ...ofFamily('ipv4'),
            ...ofFamily('ipv6'),
            cooldownSeconds: clusterPool.cooldownSeconds,
            ...(releaseByTimeSeconds === undefined ? {} : { releaseByTimeSeconds }),
            ...(maxBlocksPerNode === undefined ? {} : { maxBlocksPerNode }),
          },
        }),
    ...(serviceNetworks.length === 0
      ? {}
      : { serviceCIDRs: serviceNetworks.map(({ prefix }) => prefix.toString()) }),
    // Both names of the annotation are one word on the command line.
    ...(isUsual ? {} : { adoptFrom: sources.filter((source) => source !== 'old-annotation') }),
    project: [
      ...(switches.annotations ? ['annotations'] : []),
      ...(switches.nodeSpec ? ['node-spec'] : []),
      ...(switches.ciliumNode ? ['ciliumnode'] : []),
      ...(switches.ciliumPools ? ['ciliumnode-pools'] : []),
    ],
    ...(configMap === undefined ? {} : { bgpConfigMap: { ...configMap } }),
  };
}

/** The API server keeps the order of fields that it was given, and that of its schema. */
function isSame(a: unknown, b: unknown): boolean {
  return ordered(a) === ordered(b);
}

function ordered(value: unknown): string {
  return JSON.stringify(value, (_, one: unknown) =>
    typeof one === 'object' && one !== null && !Array.isArray(one)
      ? Object.fromEntries(Object.entries(one).sort(([a], [b]) => (a < b ? -1 : 1)))
      : one,
  );
}
