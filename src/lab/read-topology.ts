import { isMap, isScalar, isSeq, type Node } from 'yaml';
import { type ConfigProblem, type FieldReader, openYaml } from '../model/bgp-config/yaml-reader.ts';
import { readPool } from '../model/ip-pool.ts';
import { apiVersion } from '../model/keys.ts';
import type { LabelSelector } from '../model/label-selector.ts';
import { selectorProblems } from '../model/label-selector.ts';
import { defaultMode, modes, ourModes } from '../model/modes.ts';
import { parseAddress } from '../net/address.ts';
import { parsePrefix, prefixProblem } from '../net/prefix.ts';
import { routings } from '../plan/node/desired-routes.ts';
import {
  type Addresses,
  type LabNode,
  type LabPeer,
  type LabPool,
  type LabRouter,
  type Subnet,
  softwares,
  type Topology,
} from './topology.ts';
import { topologyProblems } from './topology-problems.ts';

type TopologyResult =
  | { readonly kind: 'topology'; readonly topology: Topology }
  | { readonly kind: 'refused'; readonly problems: readonly ConfigProblem[] };

type Draft<T> = { -readonly [K in keyof T]: T[K] };

const allocatingModes = ourModes.filter(({ allocates }) => allocates).map(({ name }) => name);
const maxAsn = 0xffffffff;

/** Reads one site. Every problem is reported with its line and key; with one there is no site. */
export function readTopology(name: string, text: string): TopologyResult {
  const { document, reader } = openYaml(text);
  if (reader.problems.length > 0) return { kind: 'refused', problems: reader.problems };

  const subnets: Subnet[] = [];
  const routers: LabRouter[] = [];
  const nodes: LabNode[] = [];
  const pools: LabPool[] = [];
  const peers: LabPeer[] = [];
  const places = new Map<string, Node | null>();
  const topology: Draft<Topology> = {
    name,
    about: '',
    mode: defaultMode,
    clusterPool: undefined,
    cooldownSeconds: undefined,
    reconfirmAfterSeconds: undefined,
    witness: false,
    routing: 'native',
    subnets,
    outside: { subnet: '', addresses: {} },
    routers,
    nodes,
    pools,
    peers,
  };
  const named = (read: (name: string, node: Node | null, path: string) => void): FieldReader => {
    return (node, path) => {
      const entries = pairsOf(node);
      if (entries === undefined) {
        reader.problem(node, path, `${path} must be a mapping of names`);
        return;
      }
      for (const [key, keyNode, value] of entries) {
        const at = `${path}.${key}`;
        places.set(at, value ?? keyNode);
        if (!/^[a-z0-9]([a-z0-9-]{0,18}[a-z0-9])?$/.test(key)) {
          reader.problem(
            keyNode,
            at,
            `the name ${key} must be up to 20 small letters, digits and dashes`,
          );
        } else read(key, value, at);
      }
    };
  };
  const cidr = (node: Node | null, path: string): string | undefined => {
    const value = reader.text(node, path);
    const problem = value === undefined ? undefined : prefixProblem(value);
    return problem === undefined ? value : reader.problem(node, path, `${path}: ${problem}`);
  };
  const addresses = (node: Node | null, path: string, isPrefix = false): Addresses => {
    const found: Addresses = {};
    const one = (item: Node | null, at: string) => {
      const value = isPrefix ? cidr(item, at) : reader.text(item, at);
      if (value === undefined) return;
      const family = (isPrefix ? parsePrefix(value) : parseAddress(value))?.family;
      if (family === undefined) reader.problem(item, at, `${at}: ${value} is not an address`);
      else if (found[family] !== undefined) {
        reader.problem(item, at, `${at}: ${value} is a second one of its family`);
      } else found[family] = value;
    };
    if (isSeq(node)) reader.list(node, path, one);
    else one(node, path);
    return found;
  };
  const word = <T extends string>(
    node: Node | null,
    path: string,
    known: readonly T[],
  ): T | undefined => {
    const value = reader.text(node, path);
    const found = known.find((one) => one === value);
    if (found === undefined && value !== undefined) {
      reader.problem(node, path, `${path} is ${value}; it can be ${known.join(', ')}`);
    }
    return found;
  };

  reader.mapping(document.contents, '', {
    about: (node, key) => {
      topology.about = reader.text(node, key) ?? '';
    },
    ipam: (node, key) => {
      topology.mode = modes[word(node, key, allocatingModes) ?? defaultMode.name];
    },
    routing: (node, key) => {
      topology.routing = word(node, key, routings) ?? 'native';
    },
    cooldownSeconds: (node, key) => {
      topology.cooldownSeconds = reader.integer(node, key, 0, 86_400);
    },
    reconfirmAfterSeconds: (node, key) => {
      topology.reconfirmAfterSeconds = reader.integer(node, key, 0, 86_400);
    },
    witness: (node, key) => {
      topology.witness = reader.boolean(node, key) ?? false;
    },
    clusterPool: (node, key) => {
      const pool = { cidr: '', maskSize: 24 };
      reader.mapping(node, key, {
        cidr: (value, at) => {
          pool.cidr = cidr(value, at) ?? '';
        },
        maskSize: (value, at) => {
          pool.maskSize = reader.integer(value, at, 1, 128) ?? 24;
        },
      });
      topology.clusterPool = pool;
    },
    subnets: named((subnet, node, path) => {
      const draft: Draft<Subnet> = { name: subnet, cidrs: {}, gateways: {} };
      reader.mapping(node, path, {
        cidr: (value, at) => {
          draft.cidrs = addresses(value, at, true);
        },
        gateway: (value, at) => {
          draft.gateways = addresses(value, at);
        },
      });
      subnets.push(draft);
    }),
    outside: (node, key) => {
      const outside: Draft<Topology['outside']> = { subnet: '', addresses: {} };
      places.set('outside', node);
      reader.mapping(node, key, {
        subnet: (value, at) => {
          outside.subnet = reader.text(value, at) ?? '';
        },
        address: (value, at) => {
          outside.addresses = addresses(value, at);
        },
      });
      topology.outside = outside;
    },
    routers: named((router, node, path) => {
      const legs = new Map<string, Addresses>();
      const draft: Draft<LabRouter> = {
        name: router,
        address: '',
        asn: undefined,
        software: undefined,
        legs,
      };
      reader.mapping(node, path, {
        address: (value, at) => {
          draft.address = addresses(value, at).ipv4 ?? '';
        },
        asn: (value, at) => {
          draft.asn = reader.integer(value, at, 1, maxAsn);
        },
        software: (value, at) => {
          draft.software = word(value, at, softwares);
        },
        subnets: named((subnet, value, at) => legs.set(subnet, addresses(value, at))),
      });
      routers.push(draft);
    }),
    nodes: named((name_, node, path) => {
      const draft: Draft<LabNode> = {
        name: name_,
        subnet: '',
        addresses: {},
        labels: {},
        pods: 1,
        isSpare: false,
        podCidr: undefined,
        ciliumPodCidr: undefined,
      };
      reader.mapping(node, path, {
        subnet: (value, at) => {
          draft.subnet = reader.text(value, at) ?? '';
        },
        address: (value, at) => {
          draft.addresses = addresses(value, at);
        },
        labels: (value, at) => {
          draft.labels = Object.fromEntries(
            [...reader.texts(value, at)].map(([key, { text: label }]) => [key, label]),
          );
        },
        pods: (value, at) => {
          draft.pods = reader.integer(value, at, 0, 50) ?? 1;
        },
        spare: (value, at) => {
          draft.isSpare = reader.boolean(value, at) ?? false;
        },
        podCIDR: (value, at) => {
          draft.podCidr = cidr(value, at);
        },
        ciliumPodCIDR: (value, at) => {
          draft.ciliumPodCidr = cidr(value, at);
        },
      });
      nodes.push(draft);
    }),
    pools: named((pool, node, path) => {
      const spec = (node?.toJS(document) ?? {}) as Record<string, unknown>;
      const read = readPool({ apiVersion, kind: 'IPPool', metadata: { name: pool }, spec });
      if (read.kind === 'malformed') {
        for (const problem of read.problems) reader.problem(node, path, `${path}: ${problem}`);
      }
      pools.push({ name: pool, spec });
    }),
    peers: (node, key) =>
      reader.list(node, key, (item, path) => {
        const draft: Draft<LabPeer> = { router: '', asn: 0, nodeSelector: undefined };
        places.set(path, item);
        reader.mapping(item, path, {
          router: (value, at) => {
            draft.router = reader.text(value, at) ?? '';
          },
          asn: (value, at) => {
            draft.asn = reader.integer(value, at, 1, maxAsn) ?? 0;
          },
          nodeSelector: (value, at) => {
            const selector = value?.toJS(document) as LabelSelector;
            for (const problem of selectorProblems(selector, at)) {
              reader.problem(value, at, problem);
            }
            draft.nodeSelector = selector;
          },
        });
        peers.push(draft);
      }),
  });
  if (reader.problems.length === 0) {
    for (const { key, sentence } of topologyProblems(topology)) {
      reader.problem(places.get(key), key, sentence);
    }
  }
  if (reader.problems.length > 0) return { kind: 'refused', problems: reader.problems };
  return { kind: 'topology', topology };
}

type Pair = [name: string, key: Node | null, value: Node | null];

function pairsOf(node: Node | null): Pair[] | undefined {
  if (!isMap(node)) return undefined;
  return node.items.map(({ key, value }) => {
    const keyNode = key as Node | null;
    const name = isScalar(keyNode) ? (keyNode.source ?? String(keyNode.value)) : String(keyNode);
    return [name, keyNode, value as Node | null];
  });
}
