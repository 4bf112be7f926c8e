/** Events in events.k8s.io/v1: the Events of the core group under other names, kept as those. */
import type { ApiObject } from '../object.ts';
import type { Conversion } from '../resource.ts';

const coreNames: Readonly<Record<string, string>> = {
  note: 'message',
  regarding: 'involvedObject',
  reportingController: 'reportingComponent',
  deprecatedSource: 'source',
  deprecatedFirstTimestamp: 'firstTimestamp',
  deprecatedLastTimestamp: 'lastTimestamp',
  deprecatedCount: 'count',
};
const laterNames = Object.fromEntries(
  Object.entries(coreNames).map(([later, core]) => [core, later]),
);

function renamed(object: ApiObject, names: Readonly<Record<string, string>>): ApiObject {
  const { apiVersion, kind, metadata, ...fields } = object;
  const others = Object.entries(fields).map(([name, value]) => [names[name] ?? name, value]);
  return { apiVersion, kind, metadata, ...Object.fromEntries(others) };
}

export const eventsV1: Conversion = {
  collection: 'events',
  toStored: (event) => ({
    ...renamed(event, coreNames),
    apiVersion: 'v1',
    involvedObject: event.regarding ?? {},
  }),
  fromStored: (event) => ({ ...renamed(event, laterNames), apiVersion: 'events.k8s.io/v1' }),
};
