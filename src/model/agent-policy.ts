/**
 * The admission policy that binds each agent to its own node, as deploy/agent.yaml ships it
 * (a test compares them). What an agent reports is believed only where the live objects are
 * the same: a policy that somebody has weakened binds nobody.
 */
import type { KubeObject } from './object.ts';
import { admissionBindings, admissionPolicies } from './resources.ts';

/** Of the policy and of its binding. */
export const agentPolicyName = 'cadastre-agent-own-node';

/** On a NodeReport: the policy that was in force when its agent wrote the spec. */
export const agentPolicyAnnotation = 'cadastre.dev/admission-policy';

/** The two objects as the API server has them; undefined: there is none. */
export interface AgentPolicyObjects {
  policy: KubeObject | undefined;
  binding: KubeObject | undefined;
}

/** Both, in the order in which an absence is reported. */
export const agentPolicyParts = [
  { part: 'policy', resource: admissionPolicies },
  { part: 'binding', resource: admissionBindings },
] as const satisfies ReadonlyArray<{ part: keyof AgentPolicyObjects; resource: object }>;

/**
 * Which policy it is: the uids are the API server's own and cannot be guessed before it is
 * installed, and with every change of a spec the generation is another one.
 */
export function agentPolicyIdentity(objects: AgentPolicyObjects): string | undefined {
  const parts = agentPolicyParts.map(({ part }) => {
    const { uid, generation = 0 } = objects[part]?.metadata ?? {};
    return uid === undefined ? undefined : `${uid}.${generation}`;
  });
  return parts.includes(undefined) ? undefined : parts.join(' ');
}

const forbidden = (rule: { expression: string } & ({ message: string } | { says: string })) => ({
  expression: rule.expression,
  reason: 'Forbidden',
  ...('says' in rule ? { messageExpression: rule.says } : { message: rule.message }),
});

const rule = (group: string, version: string, operations: string[], ...resources: string[]) => ({
  apiGroups: [group],
  apiVersions: [version],
  operations,
  resources,
  scope: '*',
});

export const agentPolicySpec = {
  failurePolicy: 'Fail',
  matchConstraints: {
    matchPolicy: 'Equivalent',
    resourceRules: [
      rule('cadastre.dev', '*', ['CREATE', 'UPDATE'], 'nodereports', 'nodereports/status'),
      rule('', 'v1', ['UPDATE'], 'nodes', 'nodes/status'),
      rule('', 'v1', ['CREATE', 'UPDATE'], 'events'),
    ],
  },
  matchConditions: [
    {
      name: 'agents',
      expression:
        "request.userInfo.username.matches('^system:serviceaccount:[^:]+:cadastre-agent$') || " +
        "(request.resource.group == 'cadastre.dev' && 'system:nodes' in request.userInfo.groups)",
    },
  ],
  variables: [
    {
      name: 'node',
      expression:
        "request.userInfo.username.startsWith('system:node:') " +
        '? request.userInfo.username.substring(12) ' +
        ": request.userInfo.?extra[?'authentication.kubernetes.io/node-name'][?0].orValue('')",
    },
    { name: 'isEvent', expression: "request.resource.resource == 'events'" },
    { name: 'isNode', expression: "request.resource.resource == 'nodes'" },
    {
      name: 'mayDiffer',
      expression: "['managedFields', 'resourceVersion', 'generation', 'taints', 'conditions']",
    },
    {
      name: 'own',
      expression:
        "['CadastreAgentReady', 'CadastrePodAddressesFree', 'cadastre.dev/no-pod-addresses', " +
        "'CadastreBlocksAssigned', 'CadastreDrift']",
    },
    {
      name: 'others',
      expression:
        '!variables.isNode ? [] : [oldObject, object].map(one, ' +
        'one.?status.?conditions.orValue([]).filter(c, !(c.type in variables.own)).map(c, dyn(c)) + ' +
        'one.?spec.?taints.orValue([]).filter(t, !(t.key in variables.own)).map(t, dyn(t)))',
    },
  ],
  validations: [
    forbidden({
      expression: "variables.node != ''",
      message:
        'the token of this agent names no node: run the agent as a Pod of a DaemonSet on ' +
        'Kubernetes 1.30 or later, or give it a token that is bound to its Node (kubectl ' +
        'create token cadastre-agent -n kube-system --bound-object-kind Node ' +
        '--bound-object-name NODE --bound-object-uid UID)',
    }),
    forbidden({
      expression: 'variables.isEvent || object.metadata.name == variables.node',
      says:
        "'the agent of node \"' + variables.node + '\" may not write ' + request.kind.kind + ' \"' + " +
        "object.metadata.name + '\": it is not its own'",
    }),
    forbidden({
      expression:
        '!variables.isEvent || [dyn(object), dyn(oldObject)].all(one, one == null || ' +
        "(one.involvedObject.?kind.orValue('') == 'Node' && " +
        "one.involvedObject.?name.orValue('') == variables.node))",
      says: "'the agent of node \"' + variables.node + '\" writes Events about its own Node alone'",
    }),
    forbidden({
      expression:
        "!variables.isNode || ['metadata', 'spec', 'status'].all(part, " +
        'dyn(object)[?part].orValue({}).all(key, key in variables.mayDiffer || ' +
        'dyn(oldObject)[?part][?key] == dyn(object)[?part][?key]) && ' +
        'dyn(oldObject)[?part].orValue({}).all(key, key in variables.mayDiffer || ' +
        'key in dyn(object)[?part].orValue({})))',
      message: 'an agent changes nothing of its Node but its own conditions and its own taint',
    }),
    forbidden({
      expression:
        '!variables.isNode || ' +
        '(variables.others[0].all(one, one in variables.others[1]) && ' +
        'variables.others[1].all(one, one in variables.others[0]))',
      message: 'an agent changes no condition and no taint of its Node but its own',
    }),
  ],
};

export const agentPolicyBindingSpec = {
  policyName: agentPolicyName,
  validationActions: ['Deny'],
};
