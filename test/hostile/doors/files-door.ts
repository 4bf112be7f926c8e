/** Files that people and routers write, damaged: each is read, or refused with what is wrong. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../../src/base/clock.ts';
import { CadastreError } from '../../../src/base/errors.ts';
import { readSpeakConfig } from '../../../src/cli/bgp/bgp-speak-config.ts';
import { runCommandLine } from '../../../src/cli/program.ts';
import type { Terminal } from '../../../src/cli/terminal.ts';
import { readRib } from '../../../src/doctor/rib/read-rib.ts';
import { loadKubeConfig } from '../../../src/kube/kubeconfig.ts';
import { readTopology } from '../../../src/lab/read-topology.ts';
import { loadConfigMap } from '../../../src/model/bgp-config-map.ts';
import type { Random } from '../../soak/bgp-codec/mutator.ts';
import { damagedText } from '../damage.ts';
import { hostileYaml } from '../hostile-yaml.ts';
import { Tally } from '../tally.ts';

interface Kind {
  name: string;
  texts: string[];
  /** Whatever it throws that is no CadastreError is a fault of ours. */
  read: (text: string, file: string) => unknown;
}

const bgpConfig = `peers:
- peer-address: 10.4.36.250
  peer-asn: 64512
  my-asn: 64512
  node-selectors:
  - match-labels: { kubernetes/route: bgp-peer-83 }
    match-expressions:
    - { key: a, operator: In, values: [b, c] }
address-pools:
- name: default
  protocol: bgp
  avoid-buggy-ips: true
  addresses: [10.4.40.0/24, 10.4.41.1-10.4.41.9]
`;
const kubeconfig = `apiVersion: v1
kind: Config
current-context: a
clusters:
- name: c
  cluster: { server: "https://127.0.0.1:6443", insecure-skip-tls-verify: true }
contexts:
- name: a
  context: { cluster: c, user: u }
users:
- name: u
  user: { token: secret }
`;
const speakConfig = `asn: 64513
router-id: 10.4.94.32
peers:
  - { name: tor1, address: 10.4.94.1, asn: 64524 }
announcements:
  - { prefix: 10.5.113.0/24, communities: ['64513:100'] }
`;
/**
 * In processor time; a file of a few kilobytes is read in milliseconds. Measured: at most
 * 1.5 s on a busy machine, for YAML that is nothing but 100,000 faults.
 */
const mostMs = 4_000;

/** Run from the root of the checkout, where the whole files are. */
export async function attackFiles(random: Random, count: number): Promise<Tally> {
  const tally = new Tally('files');
  const folder = mkdtempSync(join(tmpdir(), 'cadastre-hostile-files-'));
  const kinds: Kind[] = [
    {
      name: 'manifest',
      texts: filesOf(
        'test/cli/fixtures/incident',
        'test/cli/fixtures/racks',
        'test/cli/fixtures/sessions',
      ),
      read: (text, file) => command(text, file),
    },
    { name: 'bgp-config', texts: [bgpConfig], read: (text) => loadConfigMap(text) },
    { name: 'topology', texts: filesOf('topologies'), read: (text) => readTopology('x', text) },
    {
      name: 'kubeconfig',
      texts: [kubeconfig],
      read: (text, file) => {
        writeFileSync(file, text);
        return loadKubeConfig({ kubeconfig: file });
      },
    },
    { name: 'speak', texts: [speakConfig], read: (text) => readSpeakConfig(text) },
    { name: 'rib', texts: filesOf('test/doctor/fixtures/ribs'), read: (text) => readRib(text) },
  ];
  const attempts: Array<[Kind, string]> = [];
  for (let n = 0; n < count; n++) {
    const kind = kinds[n % kinds.length] as Kind;
    attempts.push([kind, damagedText(random.pick(kind.texts), random)]);
  }
  for (const kind of kinds.filter(({ name }) => name !== 'rib')) {
    // A manifest may be large, so most of these are read to their end, by two commands.
    const texts = hostileYaml(kind.name === 'manifest' ? 20_000 : 200_000);
    for (const text of Object.values(texts)) attempts.push([kind, text]);
  }
  for (const [kind, text] of attempts) {
    const before = process.cpuUsage();
    let outcome = 'read';
    try {
      await kind.read(text, join(folder, 'file.yaml'));
    } catch (error) {
      outcome = 'refused';
      if (!(error instanceof CadastreError)) {
        tally.breaks(
          `${kind.name}: ${(error as Error).stack} for ${JSON.stringify(text.slice(0, 2_000))}`,
        );
      }
    }
    const { user, system } = process.cpuUsage(before);
    const tookMs = (user + system) / 1000;
    if (tookMs > mostMs) {
      tally.breaks(
        `${kind.name}: ${tookMs.toFixed(0)} ms for ${JSON.stringify(text.slice(0, 500))}`,
      );
    }
    tally.count(`${kind.name} ${outcome}`);
  }
  rmSync(folder, { recursive: true });
  return tally;
}

function filesOf(...folders: string[]): string[] {
  return folders.flatMap((folder) =>
    readdirSync(folder).map((file) => readFileSync(join(folder, file), 'utf8')),
  );
}

async function command(text: string, file: string): Promise<void> {
  writeFileSync(file, text);
  let said = '';
  const terminal: Terminal = {
    write: () => undefined,
    say: (line) => {
      said += `${line}\n`;
    },
    readStdin: async () => Buffer.alloc(0),
    env: {},
    clock: systemClock,
    columns: 100,
    exitCode: 0,
  };
  await runCommandLine(['plan', '--from', file], terminal);
  await runCommandLine(['doctor', '--from', file], terminal);
  if (said.includes('this is a bug')) throw new Error(said);
}
