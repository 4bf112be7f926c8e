import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkoutDir } from '../../scripts/checkout.mjs';

/** `65532:65532`, as deploy/Dockerfile has it; root where it says nothing. */
export function imageUser(): string {
  const dockerfile = readFileSync(join(checkoutDir, 'deploy/Dockerfile'), 'utf8');
  return /^USER (\d+:\d+)$/m.exec(dockerfile)?.[1] ?? '0:0';
}
