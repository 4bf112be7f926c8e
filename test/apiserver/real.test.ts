import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { asText, readBuiltinSchemas } from './builtin-schemas.ts';
import { contract } from './contract/contract.ts';

const server = contract('real');

test('the schemas of the built-in kinds are those of the real API server', async () => {
  const path = join(import.meta.dirname, '../../src/apiserver/builtin/schemas.json');
  const schemas = await readBuiltinSchemas(async (at) => (await server().call('GET', at)).body);
  const text = asText(schemas);
  // After a new version of Kubernetes, or for a new kind: UPDATE_SCHEMAS=1 writes the file.
  if (process.env.UPDATE_SCHEMAS) writeFileSync(path, text);
  expect(readFileSync(path, 'utf8')).toBe(text);
  expect(Object.keys(schemas).length).toBeGreaterThan(200);
});
