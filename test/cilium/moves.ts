/** Steps of `cadastre migrate`: there, back, and with everybody restarted in the midst of it. */
import { eventually, pause } from '../world/eventually.ts';
import type { CommandAnswer } from './cluster.ts';
import type { Stage, Step } from './stage.ts';

const moving = 'n1';

/** The pods of the other nodes do not move; n1's are evicted. */
async function pingOthers(stage: Stage): Promise<void> {
  await stage.endPings();
  await stage.pingSteadily(stage.steadyPods.filter(({ node }) => node !== moving));
}

/** Where the pools want it, by its label; null: where it came from. */
type Rack = 'new' | null;

async function label({ cluster }: Stage, rack: Rack): Promise<void> {
  await cluster.world.patchNode(moving, { metadata: { labels: { rack } } });
}

const commandOf = (word: 'apply' | 'undo') => ['migrate', word, moving, '--yes', '--timeout=120'];

const migrate = ({ cluster }: Stage, word: 'apply' | 'undo') => cluster.cadastre(commandOf(word));

/** `to`: how the addresses begin that its pods have afterwards. */
export const move =
  (word: 'apply' | 'undo', rack: Rack, to: string): Step =>
  async (stage) => {
    await pingOthers(stage);
    await label(stage, rack);
    const took = await stage.timed(async () => {
      const { code, stdout, stderr } = await migrate(stage, word);
      stage.check(code === 0, `migrate ${word}: ${stdout}${stderr}`);
    });
    return `\`migrate ${word}\` in ${took}: ${await arrived(stage, to)}`;
  };

/** The agent serves from there, and a new pod has an address of it that answers. */
async function arrived(stage: Stage, to: string): Promise<string> {
  const { cluster } = stage;
  const block = (await cluster.blocks())[moving]?.join(', ');
  const uses = await agentUses(stage);
  stage.check(uses.startsWith(to), `${moving}'s agent uses ${uses}, its block is ${block}`);
  const pod = await cluster.pods.start(`moved-${++moved}`, moving);
  stage.check(pod.address.startsWith(to), `a new pod of ${moving} has ${pod.address}`);
  await stage.whenAnnounced();
  await stage.pingSteadily([pod]);
  await whenReleased(stage);
  return `${moving} has ${block}, a new pod ${pod.address}`;
}

let moved = 0;

async function agentUses({ cluster }: Stage): Promise<string> {
  const own = (await cluster.ciliumNodes()).find(({ metadata }) => metadata.name === moving);
  return own?.spec.addresses?.find(({ type }) => type === 'CiliumInternalIP')?.ip ?? '';
}

/** What it left is free again without anybody's word: nothing lives there, as was seen. */
async function whenReleased({ cluster }: Stage): Promise<void> {
  await eventually(
    async () => {
      const left = (await cluster.world.blocks()).filter(
        ({ spec }) => spec.node?.name === moving && spec.phase !== 'Active',
      );
      if (left.length > 0) {
        throw new Error(left.map(({ spec }) => `${spec.cidr} is ${spec.phase}`).join(', '));
      }
    },
    { withinMs: 60_000 },
  );
}

/** The block that the node left has gone to another: there is no way back. */
export const undoIsRefused: Step = async (stage) => {
  const { code } = await migrate(stage, 'undo');
  stage.check(code !== 0, 'migrate undo gave a block that another node has');
  return '`migrate undo` is refused: another node has the old block now';
};

/**
 * At every step that the move comes to, the command is killed, and everybody is restarted:
 * Cilium's agents, the moving one's too, cilium-operator, and Cadastre's operator, which is
 * killed. Then the command is given again.
 */
export const moveWithRestarts =
  (word: 'apply' | 'undo', rack: Rack, to: string): Step =>
  async (stage) => {
    const { cluster } = stage;
    await pingOthers(stage);
    await label(stage, rack);
    const seen: string[] = [];
    const before = await stepOf(stage);
    for (let round = 0; round < 20; round++) {
      const command = await cluster.startCadastreCommand(commandOf(word));
      const next = await endOrStep(stage, command.answer, [before, ...seen]);
      if (typeof next !== 'string') {
        stage.check(next.code === 0, `migrate ${word}: ${next.stdout}${next.stderr}`);
        break;
      }
      seen.push(next);
      command.kill();
      await command.answer;
      await restartEverybody(stage);
      const doubled = await cluster.pods.inTwoPlaces();
      stage.check(
        doubled.length === 0,
        `restarts at ${next}: in two places: ${doubled.join('; ')}`,
      );
    }
    return `\`migrate ${word}\`, killed at every step (${seen.join(', ')}) with agents and both operators restarted: ${await arrived(stage, to)}`;
  };

/** Until the command ends, or the move has come to a step that it was not at before. */
async function endOrStep(
  stage: Stage,
  answer: Promise<CommandAnswer>,
  known: ReadonlyArray<string | undefined>,
): Promise<CommandAnswer | string> {
  for (;;) {
    const ended = await Promise.race([answer, pause(50)]);
    if (ended !== undefined) return ended;
    const step = await stepOf(stage);
    if (step !== undefined && !known.includes(step)) return step;
  }
}

async function stepOf({ cluster }: Stage): Promise<string | undefined> {
  const { body } = await cluster.world.call<{ status?: { step?: string } }>(
    'GET',
    `/apis/cadastre.dev/v1alpha1/nodemigrations/${moving}`,
  );
  return body.status?.step;
}

async function restartEverybody(stage: Stage): Promise<void> {
  const { cluster } = stage;
  await Promise.all(cluster.world.operators.splice(0).map((operator) => operator.kill9()));
  await cluster.restartCiliumOperator();
  await stage.startCadastre();
  await Promise.all(
    [...cluster.machines.values()].map((machine) => machine.restartAgent(cluster.config)),
  );
}
