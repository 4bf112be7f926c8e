/** CustomResourceDefinitions: what they may say, and the resources they make. */
import { metadataSchema, resolveBuiltin } from '../builtin/kinds.ts';
import { type CustomColumn, customColumns } from '../columns.ts';
import type { ApiObject, Fields } from '../object.ts';
import { type KindRules, type ResourceType, type Subresource, scaleBy } from '../resource.ts';
import type { Schema } from '../schema/schema.ts';
import { type Fault, faults } from '../status.ts';
import { readSchema } from './readable-schema.ts';
import { hasRules, ruleFaults } from './rules.ts';
import { structuralFaults } from './structural.ts';

interface CrdSpec {
  group: string;
  scope: 'Cluster' | 'Namespaced';
  names: {
    kind: string;
    plural: string;
    singular?: string;
    listKind?: string;
    shortNames?: string[];
    categories?: string[];
  };
  versions: CrdVersion[];
  conversion?: { strategy: string };
  preserveUnknownFields?: boolean;
}

interface CrdScale {
  specReplicasPath: string;
  statusReplicasPath: string;
  labelSelectorPath?: string;
}

export interface CrdVersion {
  name: string;
  served: boolean;
  storage: boolean;
  deprecated?: boolean;
  deprecationWarning?: string;
  schema?: { openAPIV3Schema?: Schema };
  subresources?: { status?: object; scale?: CrdScale };
  additionalPrinterColumns?: CustomColumn[];
  selectableFields?: { jsonPath: string }[];
}

export interface CrdStatus {
  conditions: Fields[];
  acceptedNames: Fields;
  storedVersions: string[];
}

export const cleanup = 'customresourcecleanup.apiextensions.k8s.io';

/** Whole once it is validated; before that anything may be missing. */
export const specOf = (crd: ApiObject) => (crd.spec ?? {}) as unknown as CrdSpec;
export const statusOf = (crd: ApiObject) => crd.status as unknown as CrdStatus | undefined;

export function isEstablished(crd: ApiObject): boolean {
  return (statusOf(crd)?.conditions ?? []).some(
    ({ type, status }) => type === 'Established' && status === 'True',
  );
}

export const crdRules: KindRules = {
  prepareCreate: (crd) => {
    fillNames(crd);
    const stored = specOf(crd).versions?.filter(({ storage }) => storage) ?? [];
    crd.status = {
      conditions: [],
      acceptedNames: { plural: '', kind: '' },
      storedVersions: stored.map(({ name }) => name),
    };
  },
  prepareUpdate: (crd) => {
    fillNames(crd);
    const status = statusOf(crd);
    const storage = specOf(crd).versions?.find((each) => each.storage)?.name;
    if (status && storage !== undefined && !status.storedVersions.includes(storage)) {
      crd.status = { ...status, storedVersions: [...status.storedVersions, storage] };
    }
  },
  prepareStatus: (crd, old) => {
    crd.spec = old.spec;
  },
  readFaults: (crd) =>
    (specOf(crd)?.versions ?? []).flatMap(({ schema }, at) =>
      schema?.openAPIV3Schema === undefined
        ? []
        : readSchema(schema.openAPIV3Schema, `spec.versions[${at}].schema.openAPIV3Schema`),
    ),
  validate: crdFaults,
  deleteFinalizers: [cleanup],
};

function fillNames(crd: ApiObject): void {
  const spec = specOf(crd);
  if (spec?.names === undefined) return;
  spec.names.singular ??= spec.names.kind?.toLowerCase();
  spec.names.listKind ??= `${spec.names.kind}List`;
  spec.conversion ??= { strategy: 'None' };
}

function crdFaults(crd: ApiObject, old: ApiObject | undefined): Fault[] {
  const { group, versions = [], scope, ...spec } = specOf(crd);
  const names: Partial<CrdSpec['names']> = spec.names ?? {};
  const found: Fault[] = [];
  if (crd.metadata.name !== `${names.plural}.${group}`) {
    found.push(
      faults.invalid(
        'metadata.name',
        crd.metadata.name,
        'must be spec.names.plural+"."+spec.group',
      ),
    );
  }
  if (scope !== 'Cluster' && scope !== 'Namespaced') {
    found.push(faults.unsupported('spec.scope', scope ?? '', ['Cluster', 'Namespaced']));
  }
  if (versions.filter(({ storage }) => storage).length !== 1) {
    found.push(
      faults.invalid(
        'spec.versions',
        versions.map(({ name }) => name),
        'must have exactly one version marked as storage version',
      ),
    );
  }
  for (const [at, version] of versions.entries()) {
    const path = `spec.versions[${at}]`;
    if (!/^[a-z]([-a-z0-9]*[a-z0-9])?$/.test(version.name) || version.name.length > 63) {
      const why = "a DNS-1035 label must consist of lower case alphanumeric characters or '-'";
      found.push(faults.invalid(`${path}.name`, version.name, why));
    }
    const schema = version.schema?.openAPIV3Schema;
    if (schema === undefined) {
      found.push(faults.required(`${path}.schema.openAPIV3Schema`, 'schemas are required'));
      continue;
    }
    found.push(...structuralFaults(schema, `${path}.schema.openAPIV3Schema`));
    found.push(...ruleFaults(schema, `${path}.schema.openAPIV3Schema`));
  }
  if (old !== undefined) {
    const before = specOf(old);
    const fixed: [string, unknown, unknown][] = [
      ['spec.group', group, before.group],
      ['spec.names.plural', names.plural, before.names.plural],
      ['spec.names.kind', names.kind, before.names.kind],
      ['spec.scope', scope, before.scope],
    ];
    for (const [field, now, then] of fixed) {
      if (now !== then) found.push(faults.invalid(field, now, 'field is immutable'));
    }
    for (const name of statusOf(crd)?.storedVersions ?? []) {
      if (versions.some((version) => version.name === name)) continue;
      found.push(
        faults.invalid(
          'status.storedVersions[0]',
          name,
          `missing from spec.versions; ${name} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in ${name} and removes ${name} from status.storedVersions`,
        ),
      );
    }
  }
  return found;
}

/** The resources a definition makes: one for each version that is served. */
export function customTypes(crd: ApiObject): ResourceType[] {
  const { group, names, versions, scope } = specOf(crd);
  const storage = versions.find((version) => version.storage)?.name ?? '';
  return versions
    .filter(({ served }) => served)
    .map((version) => {
      const schema = wholeSchema(version.schema?.openAPIV3Schema ?? {});
      return {
        group,
        version: version.name,
        kind: names.kind,
        plural: names.plural,
        singular: names.singular ?? names.kind.toLowerCase(),
        listKind: names.listKind ?? `${names.kind}List`,
        namespaced: scope === 'Namespaced',
        shortNames: names.shortNames ?? [],
        categories: names.categories ?? [],
        isCustom: true,
        storageVersion: storage,
        hasStatus: version.subresources?.status !== undefined,
        hasGeneration: true,
        createsOnUpdate: false,
        updatesUnconditionally: false,
        returnsDeleted: false,
        selectableFields: (version.selectableFields ?? []).map(({ jsonPath }) => jsonPath.slice(1)),
        schema,
        resolve: resolveBuiltin,
        hasRules: hasRules(schema),
        subresources: scaleOf(version),
        ...customColumns(version.additionalPrinterColumns),
        kindRules:
          version.deprecated === true
            ? { warnings: () => [deprecation(group, version, names.kind)] }
            : {},
      };
    });
}

function scaleOf({ subresources }: CrdVersion): Subresource[] {
  const scale = subresources?.scale;
  if (scale === undefined) return [];
  const parts = (path: string) => path.split('.').slice(1);
  const { specReplicasPath, statusReplicasPath, labelSelectorPath } = scale;
  return [
    scaleBy({
      spec: parts(specReplicasPath),
      status: parts(statusReplicasPath),
      selector: labelSelectorPath === undefined ? undefined : parts(labelSelectorPath),
    }),
  ];
}

function deprecation(group: string, version: CrdVersion, kind: string): string {
  return version.deprecationWarning ?? `${group}/${version.name} ${kind} is deprecated`;
}

/** With the fields every object has, whatever the definition says of them. */
function wholeSchema(schema: Schema): Schema {
  return {
    ...schema,
    properties: {
      ...schema.properties,
      apiVersion: {
        type: 'string',
        description: 'APIVersion defines in which version of its schema the object is written.',
      },
      kind: { type: 'string', description: 'Kind is the name of the schema in its group.' },
      metadata: metadataSchema,
    },
  };
}
