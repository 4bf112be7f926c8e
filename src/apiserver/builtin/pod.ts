/** Pods, as far as an API server alone goes: defaults, what may change, and waiting for the node. */
import { type ApiObject, copyOf, type Fields, isEqual } from '../object.ts';
import { type KindRules, keepSpec } from '../resource.ts';
import { type Fault, faults } from '../status.ts';

/** `admit`: what else a cluster with kubelets does to a pod that is being created. */
export const podRules = (admit: (pod: ApiObject) => void): KindRules => ({
  prepareCreate: (pod) => {
    fillPod(specOf(pod));
    tolerateForAWhile(specOf(pod));
    admit(pod);
    pod.status = { phase: 'Pending', qosClass: qosClass(specOf(pod)) };
  },
  prepareUpdate: (pod) => fillPod(specOf(pod)),
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
});

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

/** What depends on other fields; constants are in the table of defaults. */
export function fillPodSpec(spec: Fields): void {
  const containers = [spec.containers, spec.initContainers, spec.ephemeralContainers];
  for (const container of containers.flatMap((each) => (each ?? []) as Fields[])) {
    const image = String(container.image ?? '');
    const isLatest = !/:[^/]+$/.test(image) || image.endsWith(':latest');
    container.imagePullPolicy ??= isLatest ? 'Always' : 'IfNotPresent';
  }
  for (const volume of (spec.volumes ?? []) as Fields[]) {
    if (Object.keys(volume).every((field) => field === 'name')) volume.emptyDir = {};
  }
}

/** Of a pod itself, not of a template: what is limited is asked for. */
function fillPod(spec: Fields): void {
  fillPodSpec(spec);
  if (spec.enableServiceLinks === undefined) spec.enableServiceLinks = true;
  const containers = [spec.containers, spec.initContainers];
  for (const container of containers.flatMap((each) => (each ?? []) as Fields[])) {
    const resources = (container.resources ?? {}) as Record<string, Fields>;
    if (resources.limits === undefined) continue;
    resources.requests = { ...resources.limits, ...resources.requests };
  }
}

/** A node may be away for five minutes before its pods are deleted (DefaultTolerationSeconds). */
function tolerateForAWhile(spec: Fields): void {
  for (const key of ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable']) {
    const said = (spec.tolerations ?? []) as Fields[];
    const isSaid = said.some(
      (one) => (one.key === key || !one.key) && (one.effect === 'NoExecute' || !one.effect),
    );
    if (isSaid) continue;
    const added = { key, operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 };
    spec.tolerations = [...said, added];
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
