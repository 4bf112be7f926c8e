/** What holds for every command, for `cadastre --help` and the manual page. */
export const generalHelp: ReadonlyArray<{ title: string; text: string }> = [
  {
    title: 'What changes something',
    text: `Everything but up, lab, the operator, the agent, cni, drain, blocks release and migrate
apply or undo only looks, at a cluster or, with --from, at files.`,
  },
  {
    title: 'Exit codes',
    text: `0 fine, 1 failed, 2 wrong usage. Where 1 is an answer (doctor: findings; whatif: not safe),
the help of the command says so. Data goes to stdout and words to stderr.`,
  },
  {
    title: 'Environment',
    text: `KUBECONFIG        kubeconfig files, as for kubectl
NODE_NAME         the node that the agent serves
CADASTRE_SOCKET   the agent's socket
CADASTRE_DEBUG    show where a failure came from, like --debug
NO_COLOR          no colour on a terminal
FORCE_COLOR       colour also where no terminal is`,
  },
  {
    title: 'Files',
    text: `~/.kube/config                   the cluster, where nothing else names one
/var/lib/cadastre                what the agent keeps over a restart (--state-dir)
~/.local/share/cadastre/up       what cadastre up keeps (--data)`,
  },
  { title: 'See also', text: 'kubectl(1), ip-route(8); docs/commands.md of the package' },
];
