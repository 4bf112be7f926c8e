/** The chart as objects. */
import { parseAllDocuments } from 'yaml';
import { renderChart } from '../../scripts/chart.mjs';

export interface Rule {
  apiGroups: string[];
  resources: string[];
  resourceNames?: string[];
  verbs: string[];
}

interface Container {
  name: string;
  args: string[];
}

export interface Rendered {
  kind: string;
  metadata: { name: string; namespace?: string };
  rules?: Rule[];
  spec: {
    replicas?: number;
    strategy?: object;
    template: {
      spec: { hostNetwork?: boolean; containers: Container[]; initContainers?: Container[] };
    };
  };
}

export async function render(values: object): Promise<Rendered[]> {
  const documents = parseAllDocuments(await renderChart(values));
  return documents.map((document) => document.toJS() as Rendered).filter((one) => one !== null);
}

export const named = (objects: Rendered[]) =>
  objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`).sort();
export const argsOf = (objects: Rendered[], container: string) =>
  objects
    .flatMap(({ spec }) => spec?.template?.spec.containers ?? [])
    .find(({ name }) => name === container)?.args ?? [];
