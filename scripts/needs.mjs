/**
 * Brings what a suite needs, or says why it cannot be had.
 */

import { say } from './checkout.mjs';
import { builtCilium, ciliumVersion } from './cilium.mjs';
import { ensureDebianPackages } from './debian.mjs';
import { ensureGoTool } from './go-tools.mjs';
import { PartMissing } from './part-missing.mjs';
import { ensureClusterParts, ensureKubeParts } from './parts.mjs';

/**
 * @param {import('./suites.mjs').Needs} needs
 * @returns {Promise<string | undefined>} undefined if all is there, else the reason
 */
export async function meetNeeds(needs) {
  if (needs.root) {
    if (process.platform !== 'linux') return `needs Linux; this is ${process.platform}`;
    if (process.getuid?.() !== 0) return 'needs root for network namespaces';
  }
  if (needs.cilium && builtCilium() === undefined) {
    return `Cilium ${ciliumVersion} is not built here: npm run soak -- cilium builds it once`;
  }
  if (needs.debian) {
    const reason = await ensureDebianPackages(needs.debian);
    if (reason !== undefined) return reason;
  }
  if (needs.optionalDebian) {
    const reason = await ensureDebianPackages(needs.optionalDebian);
    if (reason !== undefined) say(`debian: ${reason}; tests that need them are skipped by name`);
  }
  try {
    if (needs.kube) await ensureKubeParts();
    if (needs.cluster) await ensureClusterParts();
    for (const tool of needs.goTools ?? []) await ensureGoTool(tool);
  } catch (error) {
    if (error instanceof PartMissing) return error.message;
    throw error;
  }
  return undefined;
}
