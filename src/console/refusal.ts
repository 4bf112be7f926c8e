/**
 * A request that is refused: a sentence, and what to do about it. A browser shows a page,
 * a program gets JSON.
 */
import type { HttpAnswer, HttpRequest } from '../base/http-server.ts';

export interface Refusal {
  status: number;
  error: string;
  remedy: string;
}

export function refusalAnswer(refusal: Refusal, headers: HttpRequest['headers']): HttpAnswer {
  const { status, error, remedy } = refusal;
  if (!wantsPage(headers)) return { status, body: { error, remedy } };
  const contentType = 'text/html; charset=utf-8';
  return { status, contentType, headers: { 'cache-control': 'no-store' }, body: page(refusal) };
}

/** Browsers name text/html for what a person opens; `fetch` and curl do not. */
export function wantsPage({ accept }: HttpRequest['headers']): boolean {
  return /\btext\/html\b/.test(accept ?? '');
}

/** Without a style sheet: whoever is refused gets no other file of the console either. */
function page({ error, remedy }: Refusal): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Cadastre: refused</title>
</head>
<body>
<h1>The console refuses this</h1>
<p>${escaped(sentence(error))}</p>
<p>${escaped(sentence(remedy))}</p>
</body>
</html>
`;
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

/** What a request said of itself stands in the page. */
function escaped(text: string): string {
  const entities: Record<string, string> = {
    '&': '&amp;',
    '<': '&lt;',
    '>': '&gt;',
    '"': '&quot;',
  };
  return text.replace(/[&<>"]/g, (one) => entities[one] ?? one);
}
