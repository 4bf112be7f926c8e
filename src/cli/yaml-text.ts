import { Document, visit } from 'yaml';
import { isPrintable } from '../base/printable.ts';

/** Without anchors: two nodes that share an object are still two facts. */
export function yamlText(data: unknown): string {
  const document = new Document(data, { aliasDuplicateObjects: false });
  visit(document, {
    // Quoted, because only there what cannot be printed has an escape; the terminal writes it.
    Scalar(_, scalar) {
      if (typeof scalar.value === 'string' && !isPrintable(scalar.value.replaceAll('\n', ''))) {
        scalar.type = 'QUOTE_DOUBLE';
      }
    },
  });
  return document.toString({ lineWidth: 0 });
}
