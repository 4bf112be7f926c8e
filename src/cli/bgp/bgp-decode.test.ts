import { PassThrough, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { runBgpDecode } from './bgp-decode.ts';

const options = { as2: false, addPath: false, ibgp: false };
const keepalive = 'ffffffffffffffffffffffffffffffff001304';

async function run(hex: string, stdin = '') {
  const stdout = new PassThrough();
  const stderr = new PassThrough();
  const exitCode = await runBgpDecode(
    { ...options, hex },
    { stdin: Readable.from([stdin]), stdout, stderr },
  );
  stdout.end();
  stderr.end();
  return { exitCode, stdout: await text(stdout), stderr: await text(stderr) };
}

test('one message becomes one JSON object', async () => {
  const { exitCode, stdout, stderr } = await run(keepalive);
  expect([exitCode, JSON.parse(stdout), stderr]).toEqual([0, { type: 'keepalive' }, '']);
});

test('a message that would end a session is an answer, not a failure', async () => {
  const { exitCode, stdout } = await run(keepalive.replace('0013', '0012'));
  expect([exitCode, JSON.parse(stdout).error.code]).toEqual([0, 1]);
});

test('what is not hex is wrong usage', async () => {
  const { exitCode, stdout, stderr } = await run('hello');
  expect([exitCode, stdout]).toEqual([2, '']);
  expect(stderr).toMatch(/not a BGP message in hex: hello; give an even number of hex digits/);
});

test('nothing on stdin is said, not passed over', async () => {
  const { exitCode, stdout, stderr } = await run('-', '\n');
  expect([exitCode, stdout]).toEqual([1, '']);
  expect(stderr).toBe('cadastre: stdin: there is no message in it; give one a line, in hex\n');
});

test('a dash reads one message a line and prints one JSON a line, bad lines aside', async () => {
  const { exitCode, stdout, stderr } = await run('-', `${keepalive}\n\nnonsense\r\n${keepalive}`);
  expect(stdout).toBe('{"type":"keepalive"}\n{"type":"keepalive"}\n');
  expect(stderr).toMatch(/^cadastre: stdin:3: not a BGP message in hex: nonsense/);
  expect(exitCode).toBe(1);
});
