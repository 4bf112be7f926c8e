/** The password of a router in a configuration that is broken: no sentence about it holds a part of it. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { runs } from '../../../test/parts/random.ts';
import { readManifest } from '../../cluster/manifest.ts';
import { loadConfigMap } from '../../model/bgp-config-map.ts';
import { readSpeakConfig } from './bgp-speak-config.ts';

const secret = 'q7Zk2mW9xR4tB8nL';

const texts = {
  file: (password: string) => `asn: 64513
router-id: 10.4.94.32
peers:
  - name: tor1
    address: 10.4.94.1
    asn: 64524
    password: ${password}
    hold-time: 90s
  - { address: 10.4.94.2, asn: 64524, password: ${password}, hold-time: 9s }
announcements:
  - prefix: 10.5.113.0/24
`,
  configMap: (password: string) => `apiVersion: v1
kind: ConfigMap
metadata: { namespace: kube-system, name: bgp-config }
data:
  config.yaml: |
    peers:
      - peer-address: 10.4.94.1
        peer-asn: 64524
        my-asn: 64513
        password: ${password}
        hold-time: 90s
      - { peer-address: 10.4.94.2, peer-asn: 64524, my-asn: 64513, password: ${password} }
`,
  object: (password: string) => `apiVersion: cadastre.dev/v1alpha1
kind: BGPPeer
metadata: { name: tor1 }
spec:
  - { address: 10.4.94.1, asn: 64524, localASN: 64513, password: ${password} }
`,
};

/** Everything that is said about a text, by whoever reads it. */
function said(text: string): string {
  const file = readSpeakConfig(text);
  const configMap = loadConfigMap(text);
  return JSON.stringify([
    file.kind === 'refused' ? file.problems : [],
    configMap.kind === 'refused' ? configMap.problems : [],
    readManifest('bgp.yaml', text).problems.map((problem) => problem()),
  ]);
}

function expectSecret(text: string): void {
  const words = said(text);
  for (let at = 0; at + 6 <= secret.length; at++) {
    expect(words, text).not.toContain(secret.slice(at, at + 6));
  }
}

const marks = fc.constantFrom(...':-?[]{},#&*!|>\'"%@` \n\t', ': ', '- ', '\n  ', '', 'a');

describe('a password', () => {
  test.each(Object.entries(texts))('in a %s that is damaged at any place', (_, text) => {
    const whole = text(secret);
    expectSecret(whole);
    for (let at = 0; at < whole.length; at += 2) {
      expectSecret(whole.slice(0, at) + whole.slice(at + 1));
      expectSecret(whole.slice(0, at));
    }
    fc.assert(
      fc.property(fc.nat(whole.length), marks, fc.nat(1), (at, mark, taken) => {
        expectSecret(whole.slice(0, at) + mark + whole.slice(at + taken));
      }),
      { numRuns: runs(300) },
    );
  });

  test.each(Object.entries(texts))('in a %s that YAML takes for something else', (_, text) => {
    for (const start of ['*', '!', '&', '%', '@', '`', '|', '>', '"', "'", '[', '{', '? ', ': ']) {
      for (const end of ['', ': x', ' #', '"', '] x', '}', `: ${secret}`]) {
        expectSecret(text(`${start}${secret}${end}`));
      }
    }
    expectSecret(text(`[${secret}]`).replaceAll('password: ', 'password:'));
    expectSecret(text(secret).replaceAll('password: ', 'password:'));
    expectSecret(text(secret).replaceAll('password: ', 'password='));
    expectSecret(text(secret.repeat(6)));
  });
});
