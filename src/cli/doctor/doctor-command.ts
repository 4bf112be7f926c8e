import type { Command } from 'commander';
import { judgeSurvey, reportOf } from '../../plan/doctor/judge.ts';
import { planRepair } from '../../plan/doctor/repair.ts';
import { routePicture } from '../../plan/doctor/route-picture.ts';
import { survey } from '../../plan/doctor/survey.ts';
import { truthTable } from '../../plan/doctor/truth-table.ts';
import { formats, printAnswer } from '../output.ts';
import type { Terminal } from '../terminal.ts';
import { readVersion } from '../version.ts';
import { addFixFlags, checkFixFlags, type FixFlagValues, fixFindings } from './doctor-fix.ts';
import { addDoctorFlags, type DoctorFlagValues, gatherEvidence } from './doctor-flags.ts';
import { renderReport } from './render-report.ts';

const examples = `
Examples:
  A cluster as it runs, against two routers' own dumps:
    $ vtysh -c 'show bgp ipv4 unicast json' > tor1.json     # on tor1
    $ birdc show route all > tor2.txt                       # on tor2
    $ cadastre doctor --rib tor1=tor1.json --rib tor2=tor2.txt

  Files that somebody sent:
    $ cadastre doctor --from cluster.json --rib tor1=tor1.json

  What can be cured safely is shown, and done step by step:
    $ cadastre doctor --fix

  One file to send around, with a drawing of the routes:
    $ cadastre doctor --rib tor1=tor1.json -o html > report.html

  For a script; exit 0 clean, 1 findings, above 1 no answer:
    $ cadastre doctor -o json | jq '.findings[] | select(.severity == "critical")'`;

const truthNames = {
  register: 'NodeBlock',
  ciliumnode: 'CiliumNode.spec.ipam',
  node: 'Node.spec.podCIDRs or the annotation',
} as const;

/** Everything that fails on the way means that there is no answer: above 1. */
export const couldNotTell = 2;

export function registerDoctor(program: Command, terminal: Terminal): void {
  const command = program
    .command('doctor')
    .summary('is every route true: records, announcements and routers compared')
    .description(
      'Compares what the register, Node and CiliumNode, agents and routers say about every block, and says who is hurt, now or when a node goes. Only looks, but for --fix. Works on any Cilium cluster, or on files.',
    );
  addFixFlags(addDoctorFlags(command));
  const output = command.options.find(({ long }) => long === '--output');
  output?.choices([...formats, 'html']);
  command.addHelpText('after', examples).action(async (flags: DoctorFlagValues & FixFlagValues) => {
    terminal.failureCode = couldNotTell;
    checkFixFlags(flags);
    const seen = survey(await gatherEvidence(flags, terminal));
    const findings = judgeSurvey(seen);
    const report = reportOf(seen, findings);
    const plan = flags.fix === true ? planRepair(seen, findings) : undefined;
    await printAnswer(terminal, flags.output, {
      data: plan === undefined ? report : { ...report, repair: plan },
      names: findings.map(({ reason, prefix, node }) => `${reason}/${prefix ?? node ?? ''}`),
      table: (columns, isWide) => renderReport(report, Math.min(columns, 1e6), isWide),
      html: async () => {
        const { renderHtml } = await import('./render-html.ts');
        return renderHtml({
          report,
          picture: routePicture(seen, findings),
          table: truthTable(seen, findings),
          version: readVersion(),
          nowMs: terminal.clock.wallMs(),
        });
      },
    });
    if (plan !== undefined && findings.length > 0) {
      const { left } = await fixFindings(plan, flags, terminal);
      terminal.exitCode = left > 0 ? 1 : 0;
      return;
    }
    if (seen.blocks.length === 0) {
      const { record, why } = seen.truth;
      terminal.say(`no answer: no node has a block by ${truthNames[record]} (${why})`);
    }
    const isAnswer = seen.blocks.length > 0 && !isBlind(report.sources);
    terminal.exitCode = findings.length > 0 ? 1 : isAnswer ? 0 : 3;
  });
}

/** Something that was asked for could not be read whole: then "no finding" is no answer. */
function isBlind(sources: readonly { state: string; note?: string }[]): boolean {
  return sources.some(({ state, note }) => state === 'partly' || note?.includes('forbidden'));
}
