/**
 * Programs that come from Debian. A suite names the packages it needs; what is
 * missing is installed when we may (root on Debian), and otherwise said.
 */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { say, secondsSince } from './checkout.mjs';

/**
 * Package, and a program (or a file, by its whole path) whose presence proves it: on another system the same
 * program from elsewhere is as good. A later suite adds its line here.
 * @type {Record<string, string>}
 */
const provenBy = {
  iproute2: 'ip',
  nftables: 'nft',
  'iputils-ping': 'ping',
  frr: 'vtysh',
  bird2: 'bird',
  gobgpd: 'gobgpd',
  openbgpd: 'bgpctl',
  exabgp: 'exabgp',
  'containernetworking-plugins': 'ptp',
  iptables: 'iptables',
  'musl-tools': 'musl-gcc',
  chromium: 'chromium',
  containerd: 'ctr',
  'busybox-static': 'busybox',
  'bind9-dnsutils': 'dig',
  curl: 'curl',
  'netcat-openbsd': 'nc.openbsd',
  wget: 'wget',
  'clang-19': 'clang-19',
  'llvm-19': 'llc-19',
  ipset: 'ipset',
  bpftool: 'bpftool',
  zsh: 'zsh',
  fish: 'fish',
  'gcc-aarch64-linux-gnu': 'aarch64-linux-gnu-gcc',
  'libc6-dev-arm64-cross': '/usr/aarch64-linux-gnu/include/stdio.h',
};

let isListFresh = false;

/**
 * @param {string[]} packages
 * @returns {Promise<string | undefined>} why they cannot be had, if so
 */
export async function ensureDebianPackages(packages) {
  const missing = packages.filter((name) => !isPresent(name));
  if (missing.length === 0) return undefined;
  const names = missing.join(', ');
  if (!existsSync('/etc/debian_version') || !findProgram('apt-get')) {
    return `this is not Debian: install ${names} by hand`;
  }
  if (process.getuid?.() !== 0) return `not root: apt-get install ${missing.join(' ')} first`;
  const start = performance.now();
  say(`debian: installing ${names}`);
  if (!isListFresh) await apt(['update'], start);
  isListFresh = true;
  await apt(['install', '-y', '--no-install-recommends', ...missing], start);
  say(`debian: installed ${names} in ${secondsSince(start)}`);
  const still = missing.filter((name) => !isPresent(name));
  return still.length === 0
    ? undefined
    : `${still.join(', ')}: installed, but its program is not found`;
}

/** @param {string} name */
function isPresent(name) {
  const program = provenBy[name];
  if (program === undefined) throw new Error(`${name} is not in the table of ${import.meta.url}`);
  return findProgram(program);
}

/** Also where only root, or only a container runtime, usually looks. @param {string} program */
function findProgram(program) {
  if (program.startsWith('/')) return existsSync(program);
  const places = [
    ...(process.env.PATH ?? '').split(delimiter),
    '/usr/sbin',
    '/sbin',
    '/usr/lib/cni',
  ];
  return places.some((dir) => dir !== '' && existsSync(join(dir, program)));
}

/** @param {string[]} args @param {number} start */
async function apt(args, start) {
  const child = spawn('apt-get', ['-q', ...args], {
    // RUNLEVEL=1: a package brings its program; no service is to be started for it.
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let last = '';
  let words = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => {
      words = `${words}${text}`.slice(-4000);
      last = words.trimEnd().split('\n').at(-1) ?? '';
    });
  }
  const progress = setInterval(() => say(`debian: ${secondsSince(start)}: ${last}`), 10_000);
  const code = await new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', resolve);
  });
  clearInterval(progress);
  if (code !== 0) throw new Error(`apt-get ${args[0]} failed (exit ${code}):\n${words.trimEnd()}`);
}
