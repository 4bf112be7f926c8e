import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { schemaRevision } from './crd.ts';
import { crds } from './crds.ts';

test('a change of a schema comes with a new revision', () => {
  const specs = JSON.stringify(crds.map(({ spec }) => spec));
  const hash = createHash('sha256').update(specs).digest('hex').slice(0, 16);
  // Changed a schema? Count schemaRevision up, and put both values here.
  expect({ schemaRevision, hash }).toEqual({ schemaRevision: 7, hash: 'aac4e32ec6971034' });
});
