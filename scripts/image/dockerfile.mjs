/** The settings of an image that deploy/Dockerfile has, so that they are written once. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkoutDir } from '../checkout.mjs';

/**
 * Of the last stage: what a runtime is told.
 * @param {Record<string, string>} args the values of its ARGs
 */
export function imageSettings(args) {
  const text = readFileSync(join(checkoutDir, 'deploy/Dockerfile'), 'utf8');
  const lines = text
    .slice(text.lastIndexOf('\nFROM '))
    .replaceAll('\\\n', ' ')
    .split('\n')
    .filter((line) => /^[A-Z]/.test(line))
    .map((line) => line.replace(/\$\{(\w+)\}/g, (_, name) => args[name] ?? ''));
  const valuesOf = (/** @type {string} */ word) =>
    lines.filter((line) => line.startsWith(`${word} `)).map((line) => line.slice(word.length + 1));
  const pairs = (/** @type {string} */ word) =>
    valuesOf(word).flatMap((line) => [...line.matchAll(/([\w.]+)=(?:"([^"]*)"|(\S+))/g)]);
  return {
    User: valuesOf('USER')[0] ?? '',
    Env: pairs('ENV').map(([, name, quoted, plain]) => `${name}=${quoted ?? plain}`),
    Entrypoint: JSON.parse(valuesOf('ENTRYPOINT')[0] ?? '[]'),
    WorkingDir: valuesOf('WORKDIR')[0] ?? '/',
    Labels: Object.fromEntries(
      pairs('LABEL').map(([, name, quoted, plain]) => [name, quoted ?? plain]),
    ),
  };
}
