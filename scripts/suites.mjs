/**
 * The suites of `npm test`, in the order in which they are started: those with real parts the
 * longest first, so that none is left alone at the end. vitest.config.ts makes a project of each
 * that has `include`. To add one, add a row; a row without test files is not
 * listed, one whose needs cannot be met is skipped by name and reason.
 */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { checkoutDir } from './checkout.mjs';

/** @type {import('./suites.mjs').Suite[]} */
export const suites = [
  { name: 'lint', what: 'Biome: lint and format', isQuick: true, command: ['biome', 'check', '.'] },
  { name: 'types', what: 'the TypeScript compiler', isQuick: true, command: ['tsc', '--noEmit'] },
  {
    name: 'unit',
    what: 'each file by itself, and the arrows between the rooms',
    isQuick: true,
    include: ['src/**/*.test.ts', 'test/*.test.ts'],
    exclude: '.long.test.ts',
  },
  {
    name: 'long',
    what: 'what needs time: long random lives, connections that carry nothing, leases that run out',
    include: ['src/**/*.long.test.ts', 'test/*.long.test.ts'],
    waitsForClocks: true,
  },
  {
    name: 'register',
    what: 'properties and stories of the register, and random partitions, without a cluster',
    include: ['test/register/**/*.test.ts', 'test/simulation/**/*.test.ts'],
  },
  {
    name: 'agreement',
    what: 'the same question, the same answer: plan, whatif, doctor, operator and console',
    isQuick: true,
    include: ['test/agreement/**/*.test.ts'],
  },
  {
    name: 'cli',
    what: 'the command line, as one types it',
    include: ['test/cli/**/*.test.ts'],
    needs: { optionalDebian: ['zsh', 'fish'] },
  },
  { name: 'cases', what: 'independent cases, as data', include: ['test/cases/**/*.test.ts'] },
  {
    name: 'hostile',
    what: 'floods and damaged input at every interface: HTTP, sockets, BGP, BMP, the CNI plugin, files',
    include: ['test/hostile/**/*.test.ts'],
  },
  {
    name: 'world',
    what: 'stories on a real API server',
    include: ['test/world/**/*.test.ts'],
    usesRealParts: true,
    workers: 2,
    needs: { kube: true },
  },
  {
    name: 'lab',
    what: 'whole sites of namespaces: every replay with real routers and real packets',
    include: ['test/lab/**/*.test.ts'],
    usesRealParts: true,
    needs: {
      root: true,
      kube: true,
      debian: ['iproute2', 'iputils-ping', 'nftables', 'frr', 'bird2'],
    },
  },
  {
    name: 'node',
    what: 'the agent on a real node: the CNI plugin, other plugins, kill -9',
    include: ['test/node/**/*.test.ts'],
    usesRealParts: true,
    needs: {
      root: true,
      kube: true,
      goTools: ['cnitool', 'containerd', 'portmap'],
      debian: [
        'iproute2',
        'iputils-ping',
        'iptables',
        'musl-tools',
        'containernetworking-plugins',
        'nftables',
        'containerd',
        'busybox-static',
        'bird2',
      ],
      optionalDebian: ['gcc-aarch64-linux-gnu', 'libc6-dev-arm64-cross'],
    },
  },
  {
    name: 'cluster',
    what: 'a cluster of real kubelets: installed by the chart, pods, Services, upgrades, uninstall',
    include: ['test/cluster/**/*.test.ts'],
    usesRealParts: true,
    needs: {
      root: true,
      kube: true,
      cluster: true,
      goTools: ['helm', 'containerd'],
      debian: [
        'iproute2',
        'iputils-ping',
        'iptables',
        'nftables',
        'musl-tools',
        'containernetworking-plugins',
        'containerd',
        'busybox-static',
        'frr',
      ],
    },
  },
  {
    name: 'apiserver',
    what: 'the embedded API server and the real one, by the same cases',
    include: ['test/apiserver/**/*.test.ts'],
    usesRealParts: true,
    needs: { kube: true },
  },
  {
    name: 'chart',
    what: 'the Helm chart: lint, what it renders, and its rights on a real API server',
    include: ['test/chart/**/*.test.ts'],
    usesRealParts: true,
    needs: { kube: true, cluster: true, goTools: ['helm'] },
  },
  {
    name: 'interop',
    what: 'sessions with real routers',
    include: ['test/interop/**/*.test.ts'],
    usesRealParts: true,
    workers: 2,
    needs: {
      root: true,
      debian: ['iproute2', 'frr', 'bird2', 'gobgpd', 'openbgpd', 'exabgp'],
    },
  },
  {
    name: 'console',
    what: 'the console in a real Chromium: every view, the try-it story, axe',
    include: ['test/console/**/*.test.ts'],
    usesRealParts: true,
    needs: { kube: true, debian: ['chromium'] },
  },
  {
    name: 'up',
    what: 'cadastre up as a person starts it: kubectl, restarts, kill -9',
    include: ['test/up/**/*.test.ts'],
    usesRealParts: true,
    needs: { kube: true },
  },
  {
    name: 'doctor',
    what: "the doctor: the incident, every reason, and real routers' dumps",
    include: ['test/doctor/**/*.test.ts'],
    usesRealParts: true,
    needs: {
      root: true,
      debian: ['iproute2', 'iputils-ping', 'frr', 'bird2', 'gobgpd', 'openbgpd'],
    },
  },
  {
    name: 'kernel',
    what: 'links, routes and namespaces of a real Linux',
    include: ['test/kernel/**/*.test.ts'],
    usesRealParts: true,
    needs: { root: true, debian: ['iproute2', 'nftables', 'iputils-ping'] },
  },
  {
    name: 'cilium',
    what: 'beside the real Cilium, where it is built already (npm run soak -- cilium builds it)',
    include: ['test/cilium/**/*.test.ts'],
    usesRealParts: true,
    mayBeSkipped: true,
    needs: {
      root: true,
      kube: true,
      cilium: true,
      debian: [
        'iproute2',
        'iputils-ping',
        'iptables',
        'ipset',
        'bpftool',
        'clang-19',
        'llvm-19',
        'frr',
        'musl-tools',
      ],
    },
  },
];

/** The test files a suite would run. @param {import('./suites.mjs').Suite} suite */
export function testFiles(suite) {
  return (suite.include ?? []).flatMap((pattern) => {
    const match = /^([\w/-]+?)\/(\*\*\/)?\*((?:\.long)?\.test\.ts)$/.exec(pattern);
    if (!match) throw new Error(`suites: a pattern this script cannot read: ${pattern}`);
    const dir = join(checkoutDir, /** @type {string} */ (match[1]));
    if (!existsSync(dir)) return [];
    return readdirSync(dir, { recursive: match[2] !== undefined, encoding: 'utf8' })
      .filter((path) => path.endsWith(/** @type {string} */ (match[3])))
      .filter((path) => suite.exclude === undefined || !path.endsWith(suite.exclude))
      .map((path) => join(dir, path));
  });
}
