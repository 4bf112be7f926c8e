/**
 * Cadastre as a user installs it, on real kubelets. One cluster serves all stories, in this
 * order. The block of one node stays full for half of them; the last uninstalls Cadastre.
 */
import { afterAll, beforeAll } from 'vitest';
import type { Cluster } from './cluster.ts';
import { startInstalled } from './installed.ts';
import { churnStories } from './stories/churn.ts';
import { doctorStories } from './stories/doctor.ts';
import { emptiedBlockStories, fullBlockStories } from './stories/full-block.ts';
import { restartStories } from './stories/restarts.ts';
import { trafficStories } from './stories/traffic.ts';
import { uninstallStories } from './stories/uninstall.ts';
import { upgradeStories } from './stories/upgrade.ts';

let cluster: Cluster;
const theCluster = () => cluster;

beforeAll(async () => {
  cluster = await startInstalled();
}, 600_000);

afterAll(async () => {
  await cluster?.close();
});

trafficStories(theCluster);
doctorStories(theCluster, 'after the installation');
fullBlockStories(theCluster);
upgradeStories(theCluster);
churnStories(theCluster);
emptiedBlockStories(theCluster);
restartStories(theCluster);
doctorStories(theCluster, 'after all of this');
uninstallStories(theCluster);
