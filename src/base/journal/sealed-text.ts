/**
 * A small file that is replaced whole begins with the checksum of its text, so that one changed bit
 * is noticed. Version 0.1.0 wrote none: JSON, and what has no space at that place, is taken as it is.
 */
import { crc32 } from 'node:zlib';

export function sealText(text: string): string {
  return `${checksumOf(text)} ${text}`;
}

/** The text, or how the file is damaged. */
export function unsealText(content: Uint8Array): { text: string } | { damage: string } {
  const whole = Buffer.from(content).toString('utf8');
  if (whole.trim() === '') return { damage: 'is empty' };
  if (whole[8] !== ' ' || whole.startsWith('{') || whole.startsWith('[')) return { text: whole };
  const text = whole.slice(9);
  if (checksumOf(text) === whole.slice(0, 8)) return { text };
  return {
    damage: `is damaged: its ${content.length} bytes do not have the checksum ${JSON.stringify(whole.slice(0, 8))} that they begin with`,
  };
}

const checksumOf = (text: string) => crc32(text).toString(16).padStart(8, '0');
