import type { Command } from 'commander';
import type { ClusterKind } from '../../model/cluster-kinds.ts';
import { apiVersion } from '../../model/keys.ts';
import { parsePrefix } from '../../net/prefix.ts';
import { planOf } from '../../plan/blocks/plan-of.ts';
import { registerOf } from '../../plan/blocks/register-of.ts';
import { printAnswer } from '../output.ts';
import { renderSections } from '../sections.ts';
import type { Terminal } from '../terminal.ts';
import { addLookFlags, type Look, type LookFlagValues, lookAt } from '../view/look.ts';
import { explainNode } from './explain-node.ts';
import { explainPool } from './explain-pool.ts';
import { explainPrefix } from './explain-prefix.ts';
import { explainNamed, indexOf } from './explain-subject.ts';
import { findTarget, refuseName } from './explain-target.ts';
import type { Explanation } from './explanation.ts';

const examples = `
Examples:
  Why this node has this block, what every pool says to it, and what its records say:
    $ cadastre explain node1

  Who holds a CIDR, or the block around an address:
    $ cadastre explain 10.5.112.0/24
    $ cadastre explain 10.5.112.17

  Which pod or Service has an address; where a pod, a Service or a router is:
    $ cadastre explain 10.5.112.17
    $ cadastre explain default/web-1
    $ cadastre explain router/tor1

  Whom a pool serves; say which when a node has the same name:
    $ cadastre explain pool/rack-83`;

export function registerExplain(program: Command, terminal: Terminal): void {
  const command = program
    .command('explain')
    .argument(
      '<what>',
      'a node, a CIDR, an address, a pool, a NodeBlock, a pod, a Service or a router',
    )
    .summary('why this pool and block; who holds an address, and who held it before')
    .description(
      'Explains a node, a piece of address space, a pool, a pod, a Service or a router: what is registered, what other records say, why it is so, and what happens next.',
    );
  addLookFlags(command)
    .addHelpText('after', examples)
    .action(async (what: string, flags: LookFlagValues) => {
      const look = await lookAt(flags, terminal, kindsFor(what));
      const { subject, facts, heading, sections, names } = explain(look, what);
      await printAnswer(terminal, flags.output, {
        data: { apiVersion, kind: 'Explanation', subject, ...facts },
        names,
        table: (columns) => renderSections(heading, sections, columns),
      });
    });
}

function explain(look: Look, what: string): Explanation {
  const target = findTarget(look.register, what) ?? explainNamed(look, what);
  if (target === undefined) return refuseName(what);
  if ('sections' in target) return target;
  if (target.kind === 'pool') return explainPool(look, target.pool);
  // What comes next depends on who is served before: so the whole plan is made.
  const planned = registerOf(look.state, look.settings);
  const plan = planOf(planned, look.state, look.settings.rules);
  if (target.kind === 'node') return explainNode(look, target.node, plan, planned);
  return explainPrefix(look, target.prefix, target.address, plan, indexOf(look));
}

/** Pods may be many: they are listed only for a question that they can answer. */
function kindsFor(what: string): ClusterKind[] {
  const isNamed = /^(node|pool|block)\//.test(what) || parsePrefix(what) !== undefined;
  return isNamed
    ? ['histories']
    : ['histories', 'pods', 'ciliumEndpoints', 'servicePools', 'serviceAddresses', 'peers'];
}
