/** HorizontalPodAutoscaler in autoscaling/v1: a share of the processor is all it can name. */
import type { ApiObject, Fields } from '../object.ts';
import type { Conversion } from '../resource.ts';

const fieldsOf = (value: unknown): Fields => (value ?? {}) as Fields;
const listOf = (value: unknown): Fields[] => (value ?? []) as Fields[];
const isProcessor = ({ type, resource }: Fields) =>
  type === 'Resource' && fieldsOf(resource).name === 'cpu';

export const autoscalerV1: Conversion = {
  toStored: (object) => {
    const { targetCPUUtilizationPercentage: share, ...spec } = fieldsOf(object.spec);
    const { currentCPUUtilizationPercentage: _, ...status } = fieldsOf(object.status);
    const target = { type: 'Utilization', averageUtilization: share };
    const metrics = [{ type: 'Resource', resource: { name: 'cpu', target } }];
    const stored: ApiObject = { ...object, apiVersion: 'autoscaling/v2' };
    stored.spec = share === undefined ? spec : { ...spec, metrics };
    if (object.status !== undefined) stored.status = status;
    return stored;
  },
  fromStored: (object) => {
    const { metrics, behavior: _, ...spec } = fieldsOf(object.spec);
    const { currentMetrics, conditions: __, ...status } = fieldsOf(object.status);
    const target = fieldsOf(fieldsOf(listOf(metrics).find(isProcessor)?.resource).target);
    const now = fieldsOf(fieldsOf(listOf(currentMetrics).find(isProcessor)?.resource).current);
    const share = { targetCPUUtilizationPercentage: target.averageUtilization };
    const measured = { currentCPUUtilizationPercentage: now.averageUtilization };
    return {
      ...object,
      apiVersion: 'autoscaling/v1',
      spec: { ...spec, ...(target.averageUtilization === undefined ? {} : share) },
      status: {
        currentReplicas: 0,
        ...status,
        ...(now.averageUtilization === undefined ? {} : measured),
      },
    };
  },
};
