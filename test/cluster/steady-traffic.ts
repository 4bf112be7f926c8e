/**
 * Pings and HTTP requests without end, while something happens to the cluster. An answer that
 * comes late is an answer: a busy machine costs nothing. What never comes is lost.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { PingTally } from '../../src/lab/replay/ping-tally.ts';
import { type Cluster, whenTrue } from './cluster.ts';
import { type Pod, urlOf } from './installed.ts';

interface Stream {
  readonly name: string;
  /** How many were answered. */
  readonly answered: () => number;
  readonly lost: () => readonly string[];
  readonly child: ChildProcess;
}

export class SteadyTraffic {
  readonly #streams: Stream[] = [];
  readonly #cluster: Cluster;

  private constructor(cluster: Cluster) {
    this.#cluster = cluster;
  }

  /** From the router to every pod, and from each pod to the next one, in both families. */
  static async start(
    cluster: Cluster,
    pods: readonly Pod[],
    urls: { readonly fromRouter?: readonly string[]; readonly fromPods?: readonly string[] } = {},
  ): Promise<SteadyTraffic> {
    const traffic = new SteadyTraffic(cluster);
    for (const [at, pod] of pods.entries()) {
      const next = pods[(at + 1) % pods.length]!;
      const inPod = ['nsenter', `--net=${await netnsOf(cluster, pod)}`];
      const from = pod.spec.nodeName;
      for (const { ip } of pod.status.podIPs!) traffic.#ping('router', [], ip);
      for (const { ip } of next.status.podIPs!) traffic.#ping(from, inPod, ip);
      const web = next.status.podIPs!.map(({ ip }) => urlOf(ip, 8080));
      traffic.#request(from, inPod, [...web, ...(urls.fromPods ?? [])]);
    }
    if (urls.fromRouter !== undefined) traffic.#request('router', [], urls.fromRouter);
    await traffic.#whenAllAnswer();
    return traffic;
  }

  /** Ends it when everything has answered once more; what was lost, and how much was sent. */
  async end(): Promise<{ lost: string[]; answered: number }> {
    try {
      await this.#whenAllAnswer();
    } catch {
      // What does not answer any more is among what was lost.
    }
    this.close();
    return {
      lost: this.#streams.flatMap(({ name, lost }) => lost().map((what) => `${name}: ${what}`)),
      answered: this.#streams.reduce((sum, { answered }) => sum + answered(), 0),
    };
  }

  /** Their output ends, and with it the processes, also those in namespaces of their own. */
  close(): void {
    for (const { child } of this.#streams) {
      child.stdout?.destroy();
      child.kill('SIGTERM');
    }
  }

  /** A few more answers from each: so that nothing is on its way that was sent before now. */
  async #whenAllAnswer(): Promise<void> {
    const wanted = this.#streams.map(({ answered }) => answered() + 3);
    await whenTrue(async () => {
      const silent = this.#streams.filter(({ answered }, at) => answered() < wanted[at]!);
      if (silent.length > 0) throw new Error(`no answer: ${silent.map((one) => one.name)}`);
    });
  }

  #ping(machine: string, enter: readonly string[], address: string): void {
    const tally = new PingTally();
    let last = 0;
    let answered = 0;
    const command = [...enter, 'ping', '-n', '-O', '-i', '0.1', address];
    const child = this.#spawn(machine, command, (line) => {
      tally.read(line, performance.now());
      if (!line.includes('bytes from')) return;
      last = tally.mark;
      answered += 1;
    });
    this.#streams.push({
      name: `ping ${machine} to ${address}`,
      child,
      answered: () => answered,
      // Up to the last answer: `end` has waited for one.
      lost: () => {
        const { lost, sent, longestSeconds } = tally.count(0, last);
        const run = (longestSeconds * 2).toFixed(1);
        return lost === 0 ? [] : [`${lost} of ${sent} pings, ${run} s in a row`];
      },
    });
  }

  #request(machine: string, enter: readonly string[], urls: readonly string[]): void {
    const failed: string[] = [];
    let answered = 0;
    const command = [...enter, process.execPath, '-e', requests, ...urls];
    const child = this.#spawn(machine, command, (line) => {
      if (line === 'ok') answered += 1;
      else failed.push(line);
    });
    const name = `HTTP from ${machine}`;
    this.#streams.push({ name, child, answered: () => answered, lost: () => failed });
  }

  #spawn(machine: string, command: readonly string[], read: (line: string) => void): ChildProcess {
    const [program = '', ...args] = this.#cluster.commandLine(machine, command);
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'ignore'] });
    child.on('error', () => {});
    createInterface({ input: child.stdout }).on('line', read);
    return child;
  }
}

/** A new connection for each request; all URLs, five times a second. */
const requests = `
const http = require('node:http');
process.stdout.on('error', () => process.exit());
const ask = (url) => {
  const request = http.get(url, { agent: false, timeout: 20000 }, (response) => {
    response.resume();
    response.on('end', () => console.log(response.statusCode === 200 ? 'ok' : url + ': ' + response.statusCode));
  });
  request.on('timeout', () => request.destroy(new Error('no answer in 20 s')));
  request.on('error', (error) => console.log(new Date().toISOString() + ' ' + url + ': ' + error.message));
};
setInterval(() => process.argv.slice(1).forEach(ask), 200);
`;

/** The file of a pod's network namespace on its node. */
async function netnsOf(cluster: Cluster, pod: Pod): Promise<string> {
  const [{ ip }] = pod.status.podIPs as [{ ip: string }];
  const look = `for file in /run/netns/*; do
    nsenter --net="$file" ip -o addr show | grep -qF " $1/" && echo "$file" && exit
  done; exit 1`;
  const { code, stdout } = await cluster.exec(pod.spec.nodeName, ['sh', '-c', look, 'sh', ip]);
  if (code !== 0) throw new Error(`${pod.spec.nodeName}: no namespace has ${ip}`);
  return stdout.trim();
}
