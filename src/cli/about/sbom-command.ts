import type { Command } from 'commander';
import type { Terminal } from '../terminal.ts';
import { readVersion } from '../version.ts';
import { readDelivered } from './components.ts';
import { cycloneDx } from './cyclonedx.ts';

const examples = `
Examples:
  For a scanner of vulnerabilities:
    $ cadastre sbom > cadastre.cdx.json

  Of an image, which has Node and Debian's libraries too:
    $ docker run --rm cadastre:VERSION sbom`;

export function registerSbom(program: Command, terminal: Terminal): void {
  program
    .command('sbom')
    .summary('the software of others in this program or image, as CycloneDX JSON')
    .description(
      'Prints a software bill of materials, CycloneDX 1.6 in JSON: every package whose code is in this program. In an image also Node, and the Debian packages of its libraries.',
    )
    .addHelpText('after', examples)
    .action(() => {
      const document = cycloneDx(readVersion(), readDelivered().components);
      terminal.write(`${JSON.stringify(document, null, 2)}\n`);
    });
}
