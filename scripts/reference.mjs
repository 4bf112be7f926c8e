/**
 * `npm run reference`: writes docs/reference.md, every field of every resource, from the schemas
 * in src/model. test/reference-page.test.ts compares.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import { checkoutDir, isMain, say } from './checkout.mjs';

/** @typedef {import('./reference.mjs').Definition} Definition */
/** @typedef {import('./reference.mjs').Schema} Schema */

const head = `# Object reference

Every field of every resource, made from the schemas by \`npm run reference\`; do not edit. What the kinds are for: [resources.md](resources.md). \`kubectl explain\` prints the same words.

Group \`cadastre.dev\`, version \`v1alpha1\`, cluster-scoped. A field without a default is absent unless it is required.
`;

/**
 * The page, before Biome aligns its tables.
 * @param {Record<string, Definition>} definitions
 */
export function referencePage(definitions) {
  const sections = Object.entries(definitions).map(([kind, definition]) => {
    const { resource, shortName, spec, status, rules, columns } = definition;
    const rows = [...fieldRows('spec', spec), ...fieldRows('status', status)];
    const table = [['field', 'type', 'default', 'what it is'], Array(4).fill('---'), ...rows];
    const messages = [
      ...ruleMessages('', rules ?? { type: 'object' }),
      ...ruleMessages('spec', spec),
    ];
    return [
      `## ${kind}`,
      `\`kubectl get ${resource.plural}\`, short \`${shortName}\`. Columns: ${columns.map(({ name }) => name).join(', ')}, Age.`,
      table.map((row) => `| ${row.join(' | ')} |`).join('\n'),
      ...(messages.length === 0
        ? []
        : ['Rules of the API server beyond types and limits:', messages.join('\n')]),
    ].join('\n\n');
  });
  return `${[head.trimEnd(), ...sections].join('\n\n')}\n`;
}

/**
 * A field and those below it, by path.
 * @param {string} path
 * @param {Schema} schema
 * @returns {string[][]}
 */
function fieldRows(path, schema) {
  const isList = schema.type === 'array';
  const inner = isList ? (schema.items ?? schema) : schema;
  if (isSelector(inner) || isCondition(inner)) return [];
  const below = isList ? `${path}[]` : path;
  return Object.entries(inner.properties ?? {}).flatMap(([name, field]) => [
    row(`${below}.${name}`, field, (inner.required ?? []).includes(name)),
    ...fieldRows(`${below}.${name}`, field),
  ]);
}

/**
 * @param {string} path
 * @param {Schema} field
 * @param {boolean} isRequired
 */
function row(path, field, isRequired) {
  const fallback = isRequired ? 'required' : '–';
  const words = field.description || field.items?.description || '';
  return [
    `\`${path}\``,
    typeText(field),
    field.default === undefined ? fallback : `\`${field.default}\``,
    words.replaceAll('|', '\\|') || '–',
  ];
}

/**
 * `integer, 0 to 4095`, `list of string`, `Active, Draining or Cooling`.
 * @param {Schema} schema
 * @returns {string}
 */
function typeText(schema) {
  if (schema.enum !== undefined) return schema.enum.map((word) => `\`${word}\``).join(', ');
  if (isSelector(schema)) return 'label selector';
  if (schema.type === 'array') {
    if (schema.items !== undefined && isCondition(schema.items)) return 'conditions of Kubernetes';
    const most = schema.maxItems === undefined ? '' : `, at most ${schema.maxItems}`;
    return `list of ${schema.items === undefined ? 'anything' : typeText(schema.items)}${most}`;
  }
  if (schema.additionalProperties !== undefined) {
    return `map of ${typeText(schema.additionalProperties)}`;
  }
  const { minimum, maximum, maxLength } = schema;
  if (minimum !== undefined && maximum !== undefined) {
    return `${schema.type}, ${minimum} to ${maximum}`;
  }
  if (minimum !== undefined) return `${schema.type}, from ${minimum}`;
  if (schema.format === 'date-time') return 'time';
  return maxLength === undefined ? schema.type : `${schema.type}, at most ${maxLength} characters`;
}

/** @param {Schema} schema */
function isSelector({ properties }) {
  return properties?.matchLabels !== undefined && properties.matchExpressions !== undefined;
}

/** @param {Schema} schema */
function isCondition({ properties }) {
  return properties?.lastTransitionTime !== undefined && properties.reason !== undefined;
}

/**
 * What CEL rules say, each with the path that it is about.
 * @param {string} path
 * @param {Schema} schema
 * @returns {string[]}
 */
function ruleMessages(path, schema) {
  if (isSelector(schema)) return [];
  const own = (schema['x-kubernetes-validations'] ?? []).flatMap(({ message }) =>
    message === undefined ? [] : [`- ${path === '' ? '' : `\`${path}\`: `}${message}`],
  );
  const below = Object.entries(schema.properties ?? {}).flatMap(([name, field]) =>
    ruleMessages(path === '' ? name : `${path}.${name}`, field),
  );
  const items = schema.items === undefined ? [] : ruleMessages(`${path}[]`, schema.items);
  return [...own, ...below, ...items];
}

/** @returns {Promise<Record<string, Definition>>} */
async function readDefinitions() {
  const { outputFiles } = await build({
    entryPoints: [join(checkoutDir, 'src/model/crds.ts')],
    bundle: true,
    platform: 'node',
    format: 'esm',
    write: false,
  });
  const code = Buffer.from(outputFiles[0]?.contents ?? []).toString('base64');
  return (await import(`data:text/javascript;base64,${code}`)).definitions;
}

if (isMain(import.meta.url)) {
  const path = join(checkoutDir, 'docs/reference.md');
  writeFileSync(path, referencePage(await readDefinitions()));
  const { execFileSync } = await import('node:child_process');
  execFileSync(join(checkoutDir, 'node_modules/.bin/biome'), ['format', '--write', path]);
  say('reference: docs/reference.md');
}
