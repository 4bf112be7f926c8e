/** The parts of built-in kinds that have a path of their own, beside the status. */
import { type ApiObject, copyOf, type Fields } from '../object.ts';
import { type Subresource, scaleBy } from '../resource.ts';

const whole = ['get', 'patch', 'update'] as const;
const scale = scaleBy({
  spec: ['spec', 'replicas'],
  status: ['status', 'replicas'],
  selector: ['spec', 'selector'],
});

/** Only the fields of the spec that are named may differ. */
const keepAllBut =
  (...fields: string[]) =>
  (object: ApiObject, old: ApiObject): void => {
    const asked = (object.spec ?? {}) as Fields;
    const spec = copyOf((old.spec ?? {}) as Fields);
    for (const field of fields) {
      if (asked[field] === undefined) delete spec[field];
      else spec[field] = asked[field];
    }
    object.spec = spec;
    object.status = copyOf(old.status);
  };

const keepAllButConditions = (object: ApiObject, old: ApiObject): void => {
  const { conditions } = (object.status ?? {}) as Fields;
  object.spec = copyOf(old.spec);
  object.status = {
    ...copyOf((old.status ?? {}) as Fields),
    ...(conditions ? { conditions } : {}),
  };
};

export const builtinSubresources: Readonly<Record<string, Subresource[]>> = {
  certificatesigningrequests: [{ name: 'approval', verbs: whole, prepare: keepAllButConditions }],
  deployments: [scale],
  namespaces: [{ name: 'finalize', verbs: ['update'], prepare: keepAllBut('finalizers') }],
  pods: [
    {
      name: 'binding',
      verbs: ['create'],
      kind: { group: '', version: 'v1', kind: 'Binding' },
    },
    { name: 'ephemeralcontainers', verbs: whole, prepare: keepAllBut('ephemeralContainers') },
    {
      name: 'eviction',
      verbs: ['create'],
      kind: { group: 'policy', version: 'v1', kind: 'Eviction' },
    },
    { name: 'resize', verbs: whole, prepare: keepAllBut('containers', 'initContainers') },
  ],
  replicasets: [scale],
  replicationcontrollers: [scale],
  serviceaccounts: [
    {
      name: 'token',
      verbs: ['create'],
      kind: { group: 'authentication.k8s.io', version: 'v1', kind: 'TokenRequest' },
    },
  ],
  statefulsets: [scale],
};
