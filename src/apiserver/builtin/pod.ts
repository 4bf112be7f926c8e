/** Pods, as far as an API server alone goes: defaults, what may change, and waiting for the node. */
import { type ApiObject, copyOf, type Fields, isEqual } from '../object.ts';
import { type KindRules, keepSpec } from '../resource.ts';
import { type Fault, faults } from '../status.ts';

export const podRules: KindRules = {
  prepareCreate: (pod) => {
    fillPodSpec(specOf(pod));
    pod.status = { phase: 'Pending', qosClass: qosClass(specOf(pod)) };
  },
  prepareUpdate: (pod) => fillPodSpec(specOf(pod)),
  prepareStatus: keepSpec,
  validate: (pod, old) => [
    ...podSpecFaults(specOf(pod), 'spec'),
    ...(old === undefined ? [] : changeFaults(pod, old)),
  ],
  graceSeconds: (pod, asked) => {
    const { nodeName, terminationGracePeriodSeconds } = specOf(pod);
    // Nobody runs it: nobody is waited for.
    if (!nodeName || isOver(pod)) return 0;
    return asked ?? Number(terminationGracePeriodSeconds ?? 30);
  },
};

function specOf(pod: ApiObject): Fields {
  pod.spec ??= {};
  return pod.spec as Fields;
}

/** How firmly it holds its place, from what its containers ask for. */
function qosClass(spec: Fields): string {
  const all = [spec.containers, spec.initContainers].flatMap((each) => (each ?? []) as Fields[]);
  const asked = all.map(({ resources }) => {
    const { requests = {}, limits = {} } = (resources ?? {}) as Record<string, Fields>;
    return { requests, limits };
  });
  const isAsking = (of: Fields) => ['cpu', 'memory'].some((name) => of[name] !== undefined);
  if (!asked.some(({ requests, limits }) => isAsking(requests) || isAsking(limits))) {
    return 'BestEffort';
  }
  const isFirm = asked.every(({ requests, limits }) =>
    ['cpu', 'memory'].every(
      (name) => limits[name] !== undefined && isEqual(requests[name] ?? limits[name], limits[name]),
    ),
  );
  return isFirm ? 'Guaranteed' : 'Burstable';
}

function isOver(pod: ApiObject): boolean {
  const phase = (pod.status as Fields | undefined)?.phase;
  return phase === 'Succeeded' || phase === 'Failed';
}

export function fillPodSpec(spec: Fields): void {
  spec.restartPolicy ??= 'Always';
  spec.dnsPolicy ??= 'ClusterFirst';
  spec.schedulerName ??= 'default-scheduler';
  spec.securityContext ??= {};
  spec.terminationGracePeriodSeconds ??= 30;
  if (spec.enableServiceLinks === undefined) spec.enableServiceLinks = true;
  for (const container of (spec.containers ?? []) as Fields[]) {
    container.resources ??= {};
    container.terminationMessagePath ??= '/dev/termination-log';
    container.terminationMessagePolicy ??= 'File';
    const image = String(container.image ?? '');
    const isLatest = !/:[^/]+$/.test(image) || image.endsWith(':latest');
    container.imagePullPolicy ??= isLatest ? 'Always' : 'IfNotPresent';
  }
}

export function podSpecFaults(spec: Fields, path: string): Fault[] {
  const containers = (spec.containers ?? []) as Fields[];
  if (containers.length === 0) return [faults.required(`${path}.containers`)];
  return containers.flatMap((container, at) =>
    ['name', 'image']
      .filter((field) => !container[field])
      .map((field) => faults.required(`${path}.containers[${at}].${field}`)),
  );
}

/** A pod that runs keeps its spec, but for a few fields. */
function changeFaults(pod: ApiObject, old: ApiObject): Fault[] {
  const [now, before] = [copyOf(specOf(pod)), copyOf(specOf(old))];
  for (const spec of [now, before]) {
    delete spec.activeDeadlineSeconds;
    delete spec.terminationGracePeriodSeconds;
    delete spec.tolerations;
    for (const each of [
      ...((spec.containers ?? []) as Fields[]),
      ...((spec.initContainers ?? []) as Fields[]),
    ]) {
      delete each.image;
    }
  }
  if (isEqual(now, before)) return [];
  return [
    faults.forbidden(
      'spec',
      'pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)',
    ),
  ];
}
