/** YAML that was written to keep its reader busy: each took seconds, minutes or the process. */
export function hostileYaml(count = 200_000): Record<string, string> {
  const each = (line: (at: number) => string) =>
    Array.from({ length: count }, (_, at) => line(at)).join('');
  return {
    'open brackets': '['.repeat(count),
    'open braces': '{a: '.repeat(count),
    'lists in lists': '- '.repeat(count),
    'keys of keys': '? '.repeat(count),
    'mappings in a line': 'a: '.repeat(count),
    'an indented staircase': Array.from({ length: 1_000 }, (_, at) => `${' '.repeat(at)}a:\n`).join(
      '',
    ),
    keys: each((at) => `k${at}: 1\n`),
    'keys in braces': `{${each((at) => `k${at}: 1,`)}}`,
    tags: each((at) => `- !t${at} a\n`),
    anchors: each((at) => `- &a${at} 1\n`),
    'aliases of one anchor': `- &a 1\n${'- *a\n'.repeat(count)}`,
    'an alias for each anchor': each((at) => `- &a${at} 1\n`) + each((at) => `- *a${at}\n`),
    'aliases of aliases': `a0: &a0 [1, 2]\n${Array.from({ length: 20 }, (_, at) => `a${at + 1}: &a${at + 1} [${`*a${at}, `.repeat(10)}]\n`).join('')}`,
    'a chain of aliases': `a0: &a0 [1]\n${Array.from({ length: 900 }, (_, at) => `a${at + 1}: &a${at + 1} [*a${at}]\n`).join('')}`,
    'merges of merges': `a0: &a0 {x: 1}\n${Array.from({ length: 20 }, (_, at) => `a${at + 1}: &a${at + 1} {<<: [${`*a${at}, `.repeat(10)}]}\n`).join('')}`,
    'an alias of itself': 'peers: &a {<<: *a}\n',
    quotes: '"'.repeat(count),
    'escapes that are none': `"${'\\q'.repeat(count)}"`,
    commas: `[${','.repeat(count)}]`,
    'closing brackets': ']'.repeat(count),
    documents: '--- 1\n'.repeat(count),
    directives: '%a\n'.repeat(count),
    'an ordered mapping': `!!omap\n${each((at) => `- k${at}: 1\n`)}`,
    'lists as keys': `${'? '.repeat(60)}[${'"a",'.repeat(10_000)}]`,
  };
}
