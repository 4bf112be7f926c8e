/**
 * kill -9 in the middle of writes, again and again. Writers keep an account of
 * what was acknowledged; after each death the server is asked for all of it.
 *
 * What must hold: an object that was acknowledged is there, with the content
 * and version of the last acknowledged write or of one that was under way; one
 * whose deletion was acknowledged is gone; no version was ever given twice;
 * and what a watcher was told happened.
 */
import { Agent } from 'node:https';
import { startEmbeddedApiServer } from '../parts/embedded-apiserver.ts';
import { type Body, callOn, type Reach, watchOn } from './server.ts';

export interface KillPlan {
  kills: number;
  writers: number;
  /** Acknowledged between a start and the kill, at most. */
  writesALife: number;
  random: () => number;
  /** A small log, so that deaths also meet snapshots. */
  compactAboveBytes: number;
  onKill?: (done: number, acknowledged: number) => void;
}

export interface KillTally {
  kills: number;
  acknowledged: number;
  creates: number;
  updates: number;
  deletes: number;
  unanswered: number;
  told: number;
  broken: string[];
}

interface Account {
  /** Undefined: not there. */
  sure: { n: string; version: number } | undefined;
  /** Asked for and not answered: may have happened. */
  maybe: { n: string | undefined }[];
}

const path = '/api/v1/namespaces/default/configmaps';

export async function killAgainAndAgain(plan: KillPlan): Promise<KillTally> {
  const server = await startEmbeddedApiServer({
    fsync: true,
    compactAboveBytes: plan.compactAboveBytes,
  });
  const { url, token, ca } = server;
  let reach: Reach = { url, token, ca };
  const tally: KillTally = {
    kills: 0,
    acknowledged: 0,
    creates: 0,
    updates: 0,
    deletes: 0,
    unanswered: 0,
    told: 0,
    broken: [],
  };
  const accounts = new Map<string, Account>();
  const versions = new Map<number, string>();
  let serial = 0;

  const acknowledged = (name: string, n: string | undefined, version: number) => {
    tally.acknowledged += 1;
    const what = `${name} ${n}`;
    const before = versions.get(version);
    if (before !== undefined && before !== what) {
      tally.broken.push(`version ${version} is both ${before} and ${what}`);
    }
    versions.set(version, what);
  };

  const writeOnce = async (name: string): Promise<void> => {
    const account = accounts.get(name) ?? { sure: undefined, maybe: [] };
    accounts.set(name, account);
    serial += 1;
    const n = String(serial);
    const isThere = account.sure !== undefined;
    const isDelete = isThere && plan.random() < 0.2;
    const attempt = { n: isDelete ? undefined : n };
    account.maybe.push(attempt);
    const answer = isDelete
      ? await callOn(reach, 'DELETE', `${path}/${name}`)
      : isThere
        ? await callOn(reach, 'PATCH', `${path}/${name}`, { data: { n, pad: 'x'.repeat(200) } })
        : await callOn(reach, 'POST', path, {
            apiVersion: 'v1',
            kind: 'ConfigMap',
            metadata: { name },
            data: { n, pad: 'x'.repeat(200) },
          });
    if (answer.status >= 300) {
      tally.broken.push(`${name}: ${answer.status} ${JSON.stringify(answer.body)}`);
      return;
    }
    account.maybe = [];
    if (isDelete) {
      tally.deletes += 1;
      tally.acknowledged += 1;
      account.sure = undefined;
      return;
    }
    tally[isThere ? 'updates' : 'creates'] += 1;
    const version = Number(answer.body.metadata.resourceVersion);
    account.sure = { n, version };
    acknowledged(name, n, version);
  };

  try {
    for (let life = 0; life < plan.kills; life++) {
      let isOver = false;
      const agent = new Agent({ keepAlive: true });
      reach = { url, token, ca, agent };
      const { body: now } = await callOn(reach, 'GET', `${path}?limit=1`);
      const from = now.metadata.resourceVersion;
      const watch = await watchOn(reach, `${path}?watch=true&resourceVersion=${from}`);
      const enough = tally.acknowledged + 1 + Math.floor(plan.random() * plan.writesALife);
      let wake = () => {};
      const until = new Promise<void>((resolve) => {
        wake = resolve;
      });
      const writers = Array.from({ length: plan.writers }, async (_, at) => {
        for (let turn = 0; !isOver; turn++) {
          try {
            await writeOnce(`w${at}-${turn % 5}`);
            if (tally.acknowledged >= enough) wake();
          } catch {
            // The connection broke: what was asked last may have happened.
            tally.unanswered += 1;
            wake();
            return;
          }
        }
      });
      await until;
      await server.kill9();
      isOver = true;
      await Promise.all(writers);
      tally.kills += 1;
      agent.destroy();
      reach = { url, token, ca };
      await server.restart();
      watch.stop();
      await audit(reach, accounts, watch.events, tally);
      plan.onKill?.(tally.kills, tally.acknowledged);
      if (tally.broken.length > 0) break;
    }
  } finally {
    await server.stop();
  }
  return tally;
}

/** Compares all that is there with the accounts, and takes it as the new truth. */
async function audit(
  reach: Reach,
  accounts: Map<string, Account>,
  told: { type: string; object: Body }[],
  tally: KillTally,
): Promise<void> {
  const { body } = await callOn(reach, 'GET', path);
  const found = new Map<string, Body>(body.items.map((item: Body) => [item.metadata.name, item]));
  const versionNow = Number(body.metadata.resourceVersion);
  for (const { type, object } of told) {
    tally.told += 1;
    const { name, resourceVersion } = object.metadata;
    const item = found.get(name);
    const isTakenBack =
      Number(resourceVersion) > versionNow ||
      (type !== 'DELETED' &&
        Number(item?.metadata.resourceVersion ?? versionNow) < Number(resourceVersion));
    if (isTakenBack)
      tally.broken.push(`${type} ${name} at ${resourceVersion} was told and is not so`);
  }
  for (const [name, account] of accounts) {
    const item = found.get(name);
    const n = item?.data.n;
    const mayBe = [account.sure?.n, ...account.maybe.map((each) => each.n)];
    if (!mayBe.includes(n)) {
      tally.broken.push(`${name} is ${n}, and should be one of ${JSON.stringify(mayBe)}`);
    } else if (account.sure !== undefined && n === account.sure.n) {
      const version = Number(item.metadata.resourceVersion);
      if (version !== account.sure.version) {
        tally.broken.push(`${name} was acknowledged at ${account.sure.version}, is at ${version}`);
      }
    }
    account.sure =
      item === undefined ? undefined : { n, version: Number(item.metadata.resourceVersion) };
    account.maybe = [];
    found.delete(name);
  }
  for (const name of found.keys()) {
    if (name.startsWith('w')) tally.broken.push(`${name} came from nowhere`);
  }
}
