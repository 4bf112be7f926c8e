import * as z from 'zod';
import type { ApiOperation } from './agent-api.ts';

/** An OpenAPI 3.1 document, whose schemas are JSON Schema 2020-12 as zod writes it. */
export function openApiDocument(
  info: { title: string; version: string; description: string },
  operations: Readonly<Record<string, ApiOperation>>,
): Record<string, unknown> {
  const schemas: Record<string, unknown> = {};
  const paths: Record<string, Record<string, unknown>> = {};
  for (const [operationId, operation] of Object.entries(operations)) {
    const { method, path, summary } = operation;
    paths[path] ??= {};
    const parameters = parametersOf(operation);
    const requestBody = bodyOf(operation, schemas);
    paths[path][method.toLowerCase()] = {
      operationId,
      summary,
      ...(parameters.length === 0 ? {} : { parameters }),
      ...(requestBody === undefined ? {} : { requestBody }),
      responses: Object.fromEntries(
        Object.entries(operation.answers).map(([status, { what, schema }]) => [
          status,
          {
            description: what,
            content: {
              'application/json': {
                schema: schema === undefined ? { type: 'object' } : refer(schema, schemas),
              },
            },
          },
        ]),
      ),
    };
  }
  return { openapi: '3.1.0', info, paths, components: { schemas } };
}

function parametersOf({ path, query, headers }: ApiOperation): object[] {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }));
  const { properties = {}, required = [] } = query === undefined ? {} : jsonSchema(query);
  const inQuery = Object.entries(properties).map(([name, schema]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    schema,
  }));
  const inHeader = Object.entries(headers ?? {}).map(([name, description]) => ({
    name,
    in: 'header',
    description,
    schema: { type: 'string' },
  }));
  return [...inPath, ...inQuery, ...inHeader];
}

function bodyOf({ body, rawBody }: ApiOperation, schemas: Record<string, unknown>) {
  if (rawBody !== undefined) {
    const content = { 'application/json': { schema: {} } };
    return { description: rawBody, required: false, content };
  }
  if (body === undefined) return undefined;
  return { required: true, content: { 'application/json': { schema: refer(body, schemas) } } };
}

/** A named schema goes to the components once and is referred to. */
function refer(schema: z.ZodType, schemas: Record<string, unknown>): object {
  const { $defs = {}, ...own } = jsonSchema(schema);
  Object.assign(schemas, $defs);
  const name = schema.meta()?.id;
  if (name === undefined) return own;
  delete own.id;
  schemas[name] = own;
  return { $ref: `#/components/schemas/${name}` };
}

interface JsonSchema {
  $defs?: Record<string, unknown>;
  properties?: Record<string, unknown>;
  required?: string[];
  id?: string;
}

function jsonSchema(schema: z.ZodType): JsonSchema {
  const text = JSON.stringify(z.toJSONSchema(schema, { target: 'draft-2020-12', io: 'output' }));
  const { $schema: _, ...rest } = JSON.parse(text.replaceAll('#/$defs/', '#/components/schemas/'));
  for (const definition of Object.values(rest.$defs ?? {})) delete (definition as JsonSchema).id;
  return rest as JsonSchema;
}
