/**
 * Every command by its first line, for `cadastre --help`, which should not wait until all of
 * them are loaded. program.long.test.ts compares it with the commands themselves.
 */
export interface ListedCommand {
  /** As the help page has it: the name, `[options]` where it has any, and its arguments. */
  term: string;
  summary: string;
}
export const commandList: readonly ListedCommand[] = [
  {
    term: 'up [options]',
    summary: 'the whole system on this machine: API server, operator, nodes, routers, console',
  },
  {
    term: 'operator [options]',
    summary: 'give every node its blocks; run several replicas, one leads',
  },
  {
    term: 'agent [options]',
    summary: "serve one node: pod addresses, routes and announcements out of the node's blocks",
  },
  {
    term: 'console [options]',
    summary: 'look at a cluster, or at files, in the browser; changes nothing',
  },
  {
    term: 'status [options]',
    summary: 'this node by its agent, or the whole cluster: health, versions, IPAM, sessions',
  },
  {
    term: 'log-level [options] [level]',
    summary: 'the log level of a running agent, operator or console, without a restart',
  },
  {
    term: 'cni',
    summary:
      'put the CNI plugin and its network configuration on this node, or remove what is left of them',
  },
  {
    term: 'drain [options] <node>',
    summary:
      "withdraw a node's routes from its routers before it is taken out, or announce them again",
  },
  {
    term: 'nodes [options] [name...]',
    summary: 'which blocks each node holds, and what its records say',
  },
  { term: 'pools [options] [name...]', summary: 'how full each pool is, and whether it serves' },
  {
    term: 'blocks [options] [block...]',
    summary: 'the register: every block, its node and its phase',
  },
  { term: 'plan [options]', summary: 'dry run: who would get which block, and why' },
  {
    term: 'doctor [options]',
    summary: 'is every route true: records, announcements and routers compared',
  },
  { term: 'whatif', summary: 'what would happen: a node drained, a pool shrunk, a router lost' },
  {
    term: 'explain [options] <what>',
    summary: 'why this pool and block; who holds an address, and who held it before',
  },
  { term: 'ipam', summary: 'addresses: how many are in use, and by whom' },
  { term: 'migrate', summary: "from today's allocations to pools, node by node" },
  { term: 'bgp', summary: 'BGP sessions and routes; decode BGP messages, run a BGP speaker' },
  {
    term: 'router-config [options]',
    summary: 'what to configure on a router: neighbours, filters, limits',
  },
  { term: 'lab', summary: 'a site of network namespaces with real routers (root, Linux)' },
  {
    term: 'version [options]',
    summary: 'this program, and what the cluster runs: operator, agents, API server, definitions',
  },
  {
    term: 'completion <shell>',
    summary: 'completion of commands, flags and names of the cluster, for a shell',
  },
  { term: 'man', summary: 'the manual page: cadastre man | man -l -' },
  { term: 'sbom', summary: 'the software of others in this program or image, as CycloneDX JSON' },
  {
    term: 'licenses [options]',
    summary: 'licences of the software of others in this program or image',
  },
];
