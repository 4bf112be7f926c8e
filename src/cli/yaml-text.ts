import { stringify } from 'yaml';

/** Without anchors: two nodes that share an object are still two facts. */
export function yamlText(data: unknown): string {
  return stringify(data, { aliasDuplicateObjects: false, lineWidth: 0 });
}
