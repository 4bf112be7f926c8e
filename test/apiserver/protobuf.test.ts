/** Protobuf bodies: the table, and every kind that Kubernetes ships an example of. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { messageNameOf, messageOf } from '../../src/apiserver/protobuf/messages.ts';
import { readProtobuf } from '../../src/apiserver/protobuf/read-envelope.ts';
import { asText, moduleDir, readMessages } from './protobuf-messages.ts';

test('the messages are those of the Go modules that the real API server is built from', () => {
  const path = join(import.meta.dirname, '../../src/apiserver/protobuf/messages.json');
  const text = asText(readMessages());
  // After a new version of Kubernetes: UPDATE_SCHEMAS=1 writes the file.
  if (process.env.UPDATE_SCHEMAS) writeFileSync(path, text);
  expect(readFileSync(path, 'utf8')).toBe(text);
});

describe("each of Kubernetes' own examples of a kind, all fields set, is the same in protobuf and in JSON", () => {
  const dir = join(moduleDir('k8s.io/api'), 'testdata/HEAD');
  const named = readdirSync(dir)
    .filter((file) => file.endsWith('.pb'))
    .map((file) => file.replace(/\.pb$/, ''))
    .filter((name) => {
      const { apiVersion = '', kind } = JSON.parse(readFileSync(join(dir, `${name}.json`), 'utf8'));
      return messageOf(messageNameOf(apiVersion, kind)) !== undefined;
    });

  test.each(named)('%s', (name) => {
    const inJson = JSON.parse(readFileSync(join(dir, `${name}.json`), 'utf8'));
    expect(readProtobuf(readFileSync(join(dir, `${name}.pb`)))).toEqual(inJson);
  });
});
