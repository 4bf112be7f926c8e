/** Which form of an answer the client would like best. */
import { ApiRefusal } from '../status.ts';
import type { Form } from '../table.ts';

interface Wanted {
  form: Form;
  /** The discovery document in one piece. */
  isAggregated: boolean;
  contentType: string;
}

export function negotiate(accept: string | undefined, includeObject: string): Wanted {
  const include = ['None', 'Object'].includes(includeObject)
    ? (includeObject as 'None' | 'Object')
    : 'Metadata';
  const plain: Form = { as: 'object', includeObject: include, version: 'v1' };
  const json = { form: plain, isAggregated: false, contentType: 'application/json' };
  if (accept === undefined || accept === '') return json;
  for (const part of accept.split(',')) {
    const [media = '', ...parameters] = part.split(';').map((each) => each.trim());
    const isJson = ['application/json', 'application/*', '*/*'].includes(media);
    if (!isJson) continue;
    const given = new Map(parameters.map((each) => each.split('=') as [string, string]));
    const as = given.get('as');
    if (as === undefined) return json;
    const version = given.get('v') ?? 'v1';
    if (as === 'APIGroupDiscoveryList') {
      if (version !== 'v2') continue;
      const contentType = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
      return { ...json, isAggregated: true, contentType };
    }
    if (version !== 'v1' || given.get('g') !== 'meta.k8s.io') continue;
    if (as === 'Table') return { ...json, form: { ...plain, as: 'table' } };
    if (as.startsWith('PartialObjectMetadata'))
      return { ...json, form: { ...plain, as: 'metadata' } };
  }
  throw notAcceptable();
}

export const notAcceptable = () =>
  new ApiRefusal(
    406,
    'NotAcceptable',
    'only the following media types are accepted: application/json',
  );
