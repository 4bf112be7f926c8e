/** The string formats that Kubernetes enforces; any other is a comment. */
import { isIPv4, isIPv6 } from 'node:net';
import { parsePrefix } from '../../net/prefix.ts';

const dateTime =
  /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])[Tt]([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d+)?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)$/;
const duration = /^[-+]?(0|((\d+(\.\d*)?|\.\d+)\s*(ns|us|µs|μs|ms|s|m|h|d|w))+)$/;

const tests: Record<string, (value: string) => boolean> = {
  'date-time': (value) => dateTime.test(value) && !Number.isNaN(Date.parse(value)),
  date: (value) => /^\d{4}-\d{2}-\d{2}$/.test(value) && !Number.isNaN(Date.parse(value)),
  duration: (value) => duration.test(value),
  ipv4: (value) => isIPv4(value),
  ipv6: (value) => isIPv6(value),
  cidr: isCidr,
  uuid: (value) =>
    /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i.test(value),
  byte: (value) => /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(value),
  mac: (value) => /^([0-9a-f]{2}[:-]){5}[0-9a-f]{2}$/i.test(value),
  email: (value) => /^[^@\s]+@[^@\s]+$/.test(value),
  uri: (value) => URL.canParse(value),
  hostname: (value) => /^[a-zA-Z0-9]([-a-zA-Z0-9.]{0,252}[a-zA-Z0-9])?$/.test(value),
};

export function isOfFormat(format: string, value: string): boolean {
  const test = tests[format];
  return test === undefined || test(value);
}

export function isCidr(value: string): boolean {
  return parsePrefix(value) !== undefined;
}
