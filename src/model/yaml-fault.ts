/**
 * Why a text is not YAML, in the parser's words but without the piece of the text
 * that some of them end with: a configuration may hold passwords.
 */
export function yamlFault(error: unknown): string {
  const { code, message } = error as { code?: string; message: string };
  if (code === 'TAG_RESOLVE_FAILED') return 'a tag (!…) that is not known';
  if (code === 'BAD_DIRECTIVE') return 'a directive (%…) that is not known';
  return message.split('\n')[0]!.replace(/: .*| at line \d+, column \d+:?$/, '');
}
