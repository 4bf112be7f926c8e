/** The play's switches, as the console offers them. */
import { HttpRefusal } from '../base/http-server.ts';
import type { TryIt } from '../console/try-it.ts';
import { CannotDo, type Demo } from './demo.ts';

export function tryItOf(demo: Demo): TryIt {
  const actions: Record<string, (body: Record<string, unknown>) => Promise<string>> = {
    'add-node': async () => `${await demo.addNode()} joins`,
    'drain-node': async (body) => {
      await demo.drainNode(named(body, 'node'));
      return `${body.node} is asked to leave: its routes are taken back, its pods go`;
    },
    'undrain-node': async (body) => {
      await demo.drainNode(named(body, 'node'), true);
      return `${body.node} is back in service`;
    },
    'remove-node': async (body) => {
      await demo.removeNode(named(body, 'node'));
      return `${body.node} is taken out; its block rests before anybody else gets it`;
    },
    'kill-router': async (body) => {
      await demo.killRouter(named(body, 'router'));
      return `${body.router} is down`;
    },
    'revive-router': async (body) => {
      await demo.reviveRouter(named(body, 'router'));
      return `${body.router} is back; the nodes will find it`;
    },
    'second-allocator': async (body) => {
      if (typeof body.on !== 'boolean') throw new HttpRefusal(400, '"on" must be true or false');
      await demo.setSecondAllocator(body.on);
      return body.on
        ? 'the second allocator writes its own blocks into spec.podCIDRs'
        : 'the second allocator is off; the nodes registered anew, which is the only way to clear the field';
    },
  };
  return {
    switches: () => demo.tryIt,
    async act(action, body) {
      const perform = Object.hasOwn(actions, action) ? actions[action] : undefined;
      if (perform === undefined) {
        const known = Object.keys(actions).join(', ');
        throw new HttpRefusal(404, `there is no "${action}" to try; there are ${known}`);
      }
      try {
        return await perform(body);
      } catch (error) {
        if (error instanceof CannotDo) throw new HttpRefusal(409, error.message);
        throw error;
      }
    },
  };
}

function named(body: Record<string, unknown>, key: string): string {
  const value = body[key];
  if (typeof value === 'string' && value !== '') return value;
  throw new HttpRefusal(400, `"${key}" must be a name`);
}
