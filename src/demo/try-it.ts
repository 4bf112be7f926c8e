/** The switches of the demo, as the console offers them. */
import { randomBytes } from 'node:crypto';
import { HttpRefusal } from '../base/http-server.ts';
import type { TryIt } from '../console/try-it.ts';
import { type Demo, NoSuchMachine } from './demo.ts';
import type { StoryPlayer } from './story/story-player.ts';

export function tryItOf(demo: Demo, story: StoryPlayer): TryIt {
  const actions: Record<string, (body: Record<string, unknown>) => Promise<string>> = {
    'add-node': async () => `${await demo.addNode()} is added`,
    'drain-node': async (body) => {
      await demo.drainNode(named(body, 'node'));
      return `${body.node} drains: its routes are withdrawn, its pods are removed`;
    },
    'undrain-node': async (body) => {
      await demo.drainNode(named(body, 'node'), true);
      return `${body.node} is in service again`;
    },
    'remove-node': async (body) => {
      await demo.removeNode(named(body, 'node'));
      return `${body.node} is deleted; its block cools down before another node can get it`;
    },
    'kill-router': async (body) => {
      await demo.killRouter(named(body, 'router'));
      return `${body.router} is down`;
    },
    'revive-router': async (body) => {
      await demo.reviveRouter(named(body, 'router'));
      return `${body.router} is up again; the nodes reconnect to it`;
    },
    'second-allocator': async (body) => {
      if (typeof body.on !== 'boolean') throw new HttpRefusal(400, '"on" must be true or false');
      await demo.setSecondAllocator(body.on);
      return body.on
        ? 'the second allocator writes its own blocks into spec.podCIDRs'
        : 'the second allocator is off; the nodes were deleted and created again, the only way to clear spec.podCIDRs';
    },
  };
  const told: Record<string, () => string> = {
    'story-play': () => {
      story.play();
      return 'the incident is played';
    },
    'story-pause': () => {
      story.pause();
      return 'the incident is paused';
    },
    'story-step': () => {
      void story.step();
      return 'the next step is taken';
    },
    'story-reset': () => {
      void story.reset();
      return 'both sites are made anew';
    },
  };
  for (const [name, tell] of Object.entries(told)) actions[name] = async () => tell();
  return {
    // Another one at every start, and nowhere on disk: what leaks is soon worth nothing.
    changeToken: randomBytes(32).toString('base64url'),
    switches: () => demo.tryIt,
    async act(action, body) {
      const perform = Object.hasOwn(actions, action) ? actions[action] : undefined;
      if (perform === undefined) {
        const known = Object.keys(actions).join(', ');
        throw new HttpRefusal(404, `unknown action "${action}"; there are ${known}`);
      }
      try {
        return await perform(body);
      } catch (error) {
        if (error instanceof NoSuchMachine) throw new HttpRefusal(409, error.message);
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
