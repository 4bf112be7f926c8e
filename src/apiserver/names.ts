/** What objects, labels and annotations may be called, and the complaints about the rest. */
import { type ApiObjectMeta, isFields } from './object.ts';
import { type Fault, faults } from './status.ts';

const label = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
const subdomain = `${label}(\\.${label})*`;
const isLabel = new RegExp(`^${label}$`);
const isSubdomain = new RegExp(`^${subdomain}$`);

export function subdomainFaults(name: string): string[] {
  const found: string[] = [];
  if (name.length > 253) found.push('must be no more than 253 bytes');
  if (!isSubdomain.test(name)) {
    found.push(
      `a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '${subdomain}')`,
    );
  }
  return found;
}

export function labelFaults(name: string): string[] {
  const found: string[] = [];
  if (name.length > 63) found.push('must be no more than 63 bytes');
  if (!isLabel.test(name)) {
    found.push(
      `a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '${label}')`,
    );
  }
  return found;
}

/** Roles and bindings: anything that fits into a path. */
export function pathSegmentFaults(name: string): string[] {
  if (name === '.' || name === '..') return [`may not be '${name}'`];
  return /[/%]/.test(name) ? ["may not contain '/' or '%'"] : [];
}

const qualifiedName = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;
const nameRule =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

function keyFaults(key: string): string[] {
  const parts = key.split('/');
  const name = parts.at(-1) as string;
  if (parts.length > 2) return [`a valid label key must have at most one '/': ${nameRule}`];
  const found =
    parts.length === 2
      ? subdomainFaults(parts[0] as string).map((why) => `prefix part ${why}`)
      : [];
  if (name.length > 63) found.push('name part must be no more than 63 bytes');
  if (name === '') found.push('name part must be non-empty');
  else if (!qualifiedName.test(name)) found.push(nameRule);
  return found;
}

/** All of an object together. */
const maxAnnotationBytes = 256 * 1024;

/** Finalizers that need no domain in front. */
const standardFinalizers = ['kubernetes', 'orphan', 'foregroundDeletion'];

/** A custom object may have finalizers of any name. */
export function metaFaults(meta: ApiObjectMeta, isCustom: boolean): Fault[] {
  const found: Fault[] = [];
  for (const [key, value] of Object.entries(isFields(meta.labels) ? meta.labels : {})) {
    for (const why of keyFaults(key)) found.push(faults.invalid('metadata.labels', key, why));
    if (value.length > 63) found.push(faults.tooLong('metadata.labels', 63));
    else if (value !== '' && !qualifiedName.test(value)) {
      found.push(
        faults.invalid(
          'metadata.labels',
          value,
          "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
        ),
      );
    }
  }
  for (const key of Object.keys(isFields(meta.annotations) ? meta.annotations : {})) {
    for (const why of keyFaults(key.toLowerCase())) {
      found.push(faults.invalid('metadata.annotations', key, why));
    }
  }
  const size = Object.entries(isFields(meta.annotations) ? meta.annotations : {}).reduce(
    (sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(String(value)),
    0,
  );
  if (size > maxAnnotationBytes) {
    found.push(faults.tooLong('metadata.annotations', maxAnnotationBytes));
  }
  for (const [at, finalizer] of (meta.finalizers ?? []).entries()) {
    for (const why of keyFaults(finalizer)) {
      found.push(faults.invalid('metadata.finalizers', finalizer, why));
    }
    if (isCustom || finalizer.includes('/') || standardFinalizers.includes(finalizer)) continue;
    const why = 'name is neither a standard finalizer name nor is it fully qualified';
    found.push(faults.invalid(`metadata.finalizers[${at}]`, finalizer, why));
  }
  for (const owner of meta.ownerReferences ?? []) {
    for (const field of ['apiVersion', 'kind', 'name', 'uid'] as const) {
      if (owner[field]) continue;
      found.push(faults.invalid(`metadata.ownerReferences.${field}`, '', 'must not be empty'));
    }
  }
  return found;
}

const alphabet = 'bcdfghjklmnpqrstvwxz2456789';

/** What is put behind `generateName`: no vowels, so no words. */
export function randomSuffix(random: () => number): string {
  return Array.from({ length: 5 }, () => alphabet[Math.floor(random() * alphabet.length)]).join('');
}
