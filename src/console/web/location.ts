/** Where the reader is: a view, perhaps a name in it, and filters. All of it is in the address. */
import { useEffect, useState } from 'preact/hooks';
import type { Subject, SubjectKind } from '../../plan/find/subject.ts';
import { formerViews, subjectPages, type ViewName, views } from '../views.ts';

export interface PageLocation {
  view: ViewName;
  /** `/nodes/master1`. */
  name: string;
  /** `/blocks/10.5.113.0%2F24`: the page of one thing. */
  subject?: Subject;
  query: URLSearchParams;
  /** What the address asks for and nobody knows. */
  unknown: string;
  /** Only the server's address: the page decides what comes first. */
  isStart: boolean;
}

const moved = 'cadastre-moved';

export function readPlace(): PageLocation {
  const [, first = '', second = ''] = location.pathname.split('/');
  const query = new URLSearchParams(location.search);
  const kind = kinds.find((one) => subjectPages[one] === first && one !== 'node');
  if (kind !== undefined && second !== '') {
    const name = decoded(second);
    const subject = { kind, name };
    return { view: nearestView[kind], name, subject, query, unknown: '', isStart: false };
  }
  const view = views.find((one) => one === first) ?? formerViews[first] ?? 'space';
  const unknown = first === '' || first === view || first in formerViews ? '' : decoded(first);
  return { view, name: decoded(second), query, unknown, isStart: first === '' };
}

const kinds = Object.keys(subjectPages) as SubjectKind[];

/** The view in which such things stand side by side. */
const nearestView: Record<SubjectKind, ViewName> = {
  node: 'nodes',
  pod: 'nodes',
  router: 'routes',
  service: 'routes',
  pool: 'space',
  block: 'space',
  address: 'space',
  prefix: 'space',
};

export function subjectAddress({ kind, name }: Subject): string {
  return `/${subjectPages[kind]}/${encodeURIComponent(name)}`;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export function address(view: ViewName, name = '', query: Record<string, string> = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== '');
  const search = given.length === 0 ? '' : `?${new URLSearchParams(given)}`;
  return `/${view}${name === '' ? '' : `/${encodeURIComponent(name)}`}${search}`;
}

export function go(href: string, how: 'push' | 'replace' = 'push'): void {
  if (how === 'push') history.pushState(null, '', href);
  else history.replaceState(null, '', href);
  window.dispatchEvent(new Event(moved));
}

/** Changes filters without a new step in the history. */
export function setQuery(change: Record<string, string>): void {
  const { view, name, query, subject } = readPlace();
  for (const [key, value] of Object.entries(change)) {
    if (value === '') query.delete(key);
    else query.set(key, value);
  }
  const search = query.size === 0 ? '' : `?${query}`;
  go((subject ? subjectAddress(subject) : address(view, name)) + search, 'replace');
}

export function usePlace(): PageLocation {
  const [place, setPlace] = useState(readPlace);
  useEffect(() => {
    const read = () => setPlace(readPlace());
    window.addEventListener('popstate', read);
    window.addEventListener(moved, read);
    return () => {
      window.removeEventListener('popstate', read);
      window.removeEventListener(moved, read);
    };
  }, []);
  return place;
}

/** Plain clicks on our own links stay in the page. */
export function followLinks(event: MouseEvent): void {
  if (event.defaultPrevented || event.button !== 0) return;
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const link = (event.target as Element | null)?.closest('a');
  if (link?.target !== '' || link.origin !== location.origin || link.hash !== '') return;
  event.preventDefault();
  go(link.pathname + link.search);
}
