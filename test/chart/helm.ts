/** helm as a person runs it, with its folders in one that the test removes. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { chartDir } from '../../scripts/chart.mjs';
import { ensureGoTool } from '../../scripts/go-tools.mjs';

export { chartDir };

interface HelmAnswer {
  exitCode: number;
  stdout: string;
  stderr: string;
}

export class Helm {
  readonly dir = mkdtempSync(join(tmpdir(), 'cadastre-helm-'));
  readonly #kubeconfigPath: string | undefined;
  #serial = 0;

  constructor(kubeconfigPath?: string) {
    this.#kubeconfigPath = kubeconfigPath;
  }

  /** A refusal is an answer, not an error. */
  async run(...args: string[]): Promise<HelmAnswer> {
    const binary = join(await ensureGoTool('helm'), 'helm');
    const env = {
      ...process.env,
      HOME: this.dir,
      HELM_CACHE_HOME: join(this.dir, 'cache'),
      HELM_CONFIG_HOME: join(this.dir, 'config'),
      HELM_DATA_HOME: join(this.dir, 'data'),
      KUBECONFIG: this.#kubeconfigPath ?? join(this.dir, 'none'),
    };
    return new Promise((resolve, reject) => {
      execFile(binary, args, { env, maxBuffer: 64 * 1024 * 1024 }, (error, stdout, stderr) => {
        if (error && typeof error.code !== 'number') reject(error);
        else
          resolve({ exitCode: typeof error?.code === 'number' ? error.code : 0, stdout, stderr });
      });
    });
  }

  async must(...args: string[]): Promise<string> {
    const { exitCode, stdout, stderr } = await this.run(...args);
    if (exitCode !== 0) throw new Error(`helm ${args.join(' ')}: ${stderr}`);
    return stdout;
  }

  /** `--values FILE`, with these in it. */
  values(values: object): string[] {
    this.#serial += 1;
    const file = join(this.dir, `values-${this.#serial}.yaml`);
    writeFileSync(file, stringify(values));
    return ['--values', file];
  }

  end(): void {
    rmSync(this.dir, { recursive: true, force: true });
  }
}

/** Values that change what is rendered, each a row of the matrix of every profile. */
export const switches: Record<string, object> = {
  'as shipped': {},
  'resource definitions by the operator': { crds: { managedBy: 'operator' } },
  'no ConfigMap of BGP': { bgp: { configMap: '' } },
  'a ConfigMap elsewhere': { bgp: { configMap: 'network/bgp' } },
  'an image by digest, from a registry with a Secret': {
    image: {
      repository: 'registry.example/cadastre',
      digest: `sha256:${'0'.repeat(64)}`,
      pullSecrets: [{ name: 'registry' }],
    },
  },
  'cluster-pool': {
    ipam: { mode: 'cluster-pool', clusterPool: { ipv4CIDRs: ['10.5.112.0/21'], ipv4MaskSize: 24 } },
  },
  'settings of Cilium': { ipam: { ciliumConfig: 'kube-system/cilium-config' } },
  'everything of the operator': {
    operator: {
      replicas: 3,
      project: ['annotations', 'node-spec', 'ciliumnode'],
      believeReports: 'all',
      driftEverySeconds: 0,
      settleAfterRestoreSeconds: 60,
      concurrency: 8,
      witness: ['bmp=0.0.0.0:11019', 'bgp=0.0.0.0:1790,as=64513,peer-as=64524'],
      logLevel: 'debug',
      lease: { name: 'x', durationSeconds: 15, renewDeadlineSeconds: 10, retryPeriodSeconds: 2 },
      metrics: { address: 'loopback', port: 9570 },
      console: { enabled: true, port: 7078 },
      affinity: { nodeAffinity: {} },
      podAnnotations: { a: 'b' },
      podDisruptionBudget: { enabled: false },
      priorityClassName: '',
      tolerations: [],
    },
    ipam: { enableIPv4: true, enableIPv6: false, serviceCIDRs: ['10.96.0.0/16'] },
  },
  'addresses for another plugin': { agent: { wiring: false } },
  'everything of the agent': {
    agent: {
      routing: 'vxlan-across-subnets',
      autoDirectNodeRoutes: false,
      masqueradeExcept: ['10.0.0.0/8', 'fd00::/8'],
      families: ['ipv4', 'ipv6'],
      reserved: ['10.5.112.0/28'],
      preAllocate: 16,
      bgpListen: '0.0.0.0:179',
      onCordon: 'blocks',
      taintWhenFull: true,
      reconfirmAfterSeconds: 300,
      drainGraceSeconds: 1,
      logLevel: 'debug',
      metrics: { address: 'loopback', port: 9571 },
      cni: { binDir: '/usr/libexec/cni', confDir: '/etc/cni/net.d', foldersOfAnotherUser: true },
      hostPID: true,
      netnsDir: '/var/run/netns',
      machineId: false,
      selinux: false,
      podAnnotations: { a: 'b' },
      maxUnavailable: '10%',
    },
  },
  'the console for whoever has the token': {
    console: { enabled: true, tokenSecret: 'console', witness: ['bmp=0.0.0.0:11019'] },
  },
  'routers that reach the console by a Service': {
    console: {
      enabled: true,
      witness: ['bmp=0.0.0.0:11019', 'bgp=[::]:1790,as=64513,peer-as=64524'],
      witnessFrom: ['10.4.94.1/32', 'fd00::/64'],
      witnessService: { type: 'LoadBalancer', annotations: { a: 'b' } },
    },
  },
  'monitoring, and no NetworkPolicy': {
    networkPolicy: { enabled: false },
    monitoring: {
      podMonitor: { enabled: true, labels: { release: 'prometheus' } },
      serviceMonitor: { enabled: true },
      prometheusRule: { enabled: true, runbookUrl: 'https://runbook.example', duration: '15s' },
      grafanaDashboard: { enabled: true },
      scrapeAnnotations: true,
    },
  },
  'the nodes cleaned': { uninstall: { cleanNodes: true } },
};

export const profiles = ['standalone', 'beside-cilium', 'doctor'] as const;
