import { printable } from '../../base/printable.ts';

/**
 * Text that is HTML. Whatever else is put into it is escaped: names of nodes, words of routers
 * and errors of an API server are other people's.
 */
export class Markup {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  toString(): string {
    return this.text;
  }
}

type Part = Markup | string | number | ReadonlyArray<Markup | string>;

/** A template whose values are escaped, but for those that are markup themselves. */
export function html(literals: TemplateStringsArray, ...values: Part[]): Markup {
  let text = literals[0] ?? '';
  values.forEach((value, at) => {
    text += put(value) + (literals[at + 1] ?? '');
  });
  return new Markup(text);
}

function put(value: Part): string {
  if (value instanceof Markup) return value.text;
  if (typeof value === 'object') return value.map(put).join('');
  return escaped(String(value));
}

const names: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** For text and for attributes in quotes. What a terminal would obey becomes visible here, too. */
export function escaped(text: string): string {
  return printable(text).replace(/[&<>"']/g, (one) => names[one]!);
}
