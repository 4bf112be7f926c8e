/** Kinds that make pods from a template: kept and shown; what runs them is a controller. */
import { type ApiObject, type Fields, isEqual } from '../object.ts';
import { type KindRules, keepSpec } from '../resource.ts';
import { type Fault, faults } from '../status.ts';
import { fillPodSpec, podSpecFaults } from './pod.ts';

const specOf = (object: ApiObject): Fields => (object.spec ?? {}) as Fields;
const templateOf = (spec: Fields): Fields => (spec.template ?? {}) as Fields;
const labelsOf = (template: Fields): Fields =>
  ((template.metadata as Fields | undefined)?.labels ?? {}) as Fields;

interface Workload {
  /** What creation decides beside the constants. */
  fill?: (object: ApiObject, spec: Fields) => void;
  status?: Fields;
  /** Where a rolling update is told how, if it is one, and how where nothing is said. */
  rolling?: ['strategy' | 'updateStrategy', Fields];
}

const workloads: Record<string, Workload> = {
  DaemonSet: {
    rolling: ['updateStrategy', { maxSurge: 0, maxUnavailable: 1 }],
    status: {
      currentNumberScheduled: 0,
      desiredNumberScheduled: 0,
      numberMisscheduled: 0,
      numberReady: 0,
    },
  },
  Deployment: { rolling: ['strategy', { maxSurge: '25%', maxUnavailable: '25%' }] },
  Job: { fill: fillJob },
  ReplicaSet: { status: { replicas: 0 } },
  StatefulSet: {
    rolling: ['updateStrategy', { partition: 0 }],
    status: { replicas: 0, availableReplicas: 0 },
  },
};

function rulesOf({ fill, status = {}, rolling }: Workload): KindRules {
  const prepare = (object: ApiObject) => {
    const spec = specOf(object);
    fillPodSpec((templateOf(spec).spec ?? {}) as Fields);
    if (rolling === undefined) return;
    const [strategy, unsaid] = rolling;
    const how = spec[strategy] as Fields | undefined;
    if (how?.type !== 'RollingUpdate') return;
    how.rollingUpdate = { ...unsaid, ...(how.rollingUpdate as Fields | undefined) };
  };
  return {
    prepareCreate: (object) => {
      prepare(object);
      fill?.(object, specOf(object));
      object.status = { ...status };
    },
    prepareUpdate: prepare,
    prepareStatus: keepSpec,
    validate: (object, old) => {
      const spec = specOf(object);
      const found = podSpecFaults((templateOf(spec).spec ?? {}) as Fields, 'spec.template.spec');
      const wanted = ((spec.selector as Fields | undefined)?.matchLabels ?? {}) as Fields;
      found.push(...labelFaults(wanted, labelsOf(templateOf(spec))));
      if (old !== undefined && !isEqual(spec.selector, specOf(old).selector)) {
        found.push(faults.invalid('spec.selector', spec.selector, 'field is immutable'));
      }
      return found;
    },
  };
}

function labelFaults(wanted: Fields, labels: Fields): Fault[] {
  if (Object.entries(wanted).every(([key, value]) => labels[key] === value)) return [];
  const why = '`selector` does not match template `labels`';
  return [faults.invalid('spec.template.metadata.labels', labels, why)];
}

/** A job selects its pods by its own uid, unless it is told how. */
function fillJob(job: ApiObject, spec: Fields): void {
  if (spec.completions === undefined && spec.parallelism === undefined) spec.completions = 1;
  spec.parallelism ??= 1;
  spec.backoffLimit ??= spec.backoffLimitPerIndex === undefined ? 6 : 2 ** 31 - 1;
  spec.completionMode ??= 'NonIndexed';
  spec.suspend ??= false;
  spec.podReplacementPolicy ??=
    spec.podFailurePolicy === undefined ? 'TerminatingOrFailed' : 'Failed';
  spec.manualSelector ??= false;
  const template = templateOf(spec);
  const { labels, uid = '', name } = job.metadata;
  if (Object.keys(labels ?? {}).length === 0 && Object.keys(labelsOf(template)).length > 0) {
    job.metadata.labels = { ...labelsOf(template) } as Record<string, string>;
  }
  if (spec.manualSelector === true) return;
  const ofUid = { 'batch.kubernetes.io/controller-uid': uid };
  const own = { 'controller-uid': uid, ...ofUid, 'job-name': name };
  const meta = (template.metadata ?? {}) as Fields;
  const all = { ...labelsOf(template), ...own, 'batch.kubernetes.io/job-name': name };
  spec.template = { ...template, metadata: { ...meta, labels: all } };
  spec.selector = { matchLabels: ofUid };
}

/** Its selector is a plain map, and its template's labels where nothing is said. */
const replicationControllerRules: KindRules = {
  prepareCreate: (controller) => {
    fillController(controller);
    controller.status = { replicas: 0 };
  },
  prepareUpdate: fillController,
  prepareStatus: keepSpec,
  validate: (controller) => {
    const spec = specOf(controller);
    return [
      ...podSpecFaults((templateOf(spec).spec ?? {}) as Fields, 'spec.template.spec'),
      ...labelFaults((spec.selector ?? {}) as Fields, labelsOf(templateOf(spec))),
    ];
  },
};

function fillController(controller: ApiObject): void {
  const spec = specOf(controller);
  const labels = labelsOf(templateOf(spec)) as Record<string, string>;
  fillPodSpec((templateOf(spec).spec ?? {}) as Fields);
  if (Object.keys((spec.selector ?? {}) as Fields).length === 0) spec.selector = { ...labels };
  const own = controller.metadata.labels ?? {};
  if (Object.keys(own).length === 0 && Object.keys(labels).length > 0) {
    controller.metadata.labels = { ...labels };
  }
}

export const workloadRules: Record<string, KindRules> = {
  ...Object.fromEntries(
    Object.entries(workloads).map(([kind, workload]) => [kind, rulesOf(workload)]),
  ),
  ReplicationController: replicationControllerRules,
};
