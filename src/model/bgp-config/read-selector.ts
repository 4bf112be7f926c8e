import type { LabelRequirement } from '../../base/label-requirement.ts';
import type { LabelSelector } from '../label-selector.ts';
import type { YamlNode, YamlReader } from './yaml-reader.ts';

const operators: readonly string[] = ['In', 'NotIn', 'Exists', 'DoesNotExist'];

export function readNodeSelector(
  reader: YamlReader,
  node: YamlNode | null,
  path: string,
): LabelSelector {
  const matchLabels: Record<string, string> = {};
  const matchExpressions: LabelRequirement[] = [];
  reader.mapping(node, path, {
    'match-labels': (value, key) => {
      for (const [label, { text }] of reader.texts(value, key)) matchLabels[label] = text;
    },
    'match-expressions': (value, key) => {
      reader.list(value, key, (item, itemPath) => {
        const expression = readExpression(reader, item, itemPath);
        if (expression !== undefined) matchExpressions.push(expression);
      });
    },
  });
  return { matchLabels, matchExpressions };
}

function readExpression(
  reader: YamlReader,
  node: YamlNode | null,
  path: string,
): LabelRequirement | undefined {
  let key: string | undefined;
  let operator: string | undefined;
  const values: string[] = [];
  const before = reader.problems.length;
  const isMapping = reader.mapping(node, path, {
    key: (value, at) => {
      key = reader.text(value, at);
    },
    operator: (value, at) => {
      operator = reader.text(value, at);
      if (operator !== undefined && !operators.includes(operator)) {
        reader.problem(value, at, `operator "${operator}" must be one of ${operators.join(', ')}`);
      }
    },
    values: (value, at) => {
      reader.list(value, at, (item, itemPath) => {
        const text = reader.text(item, itemPath);
        if (text !== undefined) values.push(text);
      });
    },
  });
  if (!isMapping || reader.problems.length > before) return undefined;
  if (key === undefined || key === '') {
    return reader.problem(node, `${path}.key`, 'an expression needs the key of a label');
  }
  if (operator === undefined) {
    return reader.problem(node, `${path}.operator`, 'an expression needs an operator');
  }
  const wantsValues = operator === 'In' || operator === 'NotIn';
  if (wantsValues && values.length === 0) {
    return reader.problem(node, `${path}.values`, `operator ${operator} needs values`);
  }
  if (!wantsValues && values.length > 0) {
    return reader.problem(node, `${path}.values`, `operator ${operator} takes no values`);
  }
  return { key, operator, values };
}
