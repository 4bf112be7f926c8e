/** The doctor as a process of its own inside a namespace: it looks and listens there. */
import { spawn } from 'node:child_process';
import type { DoctorReport } from '../../src/plan/doctor/finding.ts';
import { root } from '../cli/built-command.ts';
import type { Site } from './site.ts';

export const doctorInside = (site: Site, argv: readonly string[]) =>
  runDoctorIn(site.namespace, argv);

export function runDoctorIn(
  namespace: string,
  argv: readonly string[],
): Promise<{ code: number; stderr: string; report: DoctorReport }> {
  const words = ['netns', 'exec', namespace, process.execPath, 'bin/cadastre', 'doctor', ...argv];
  const child = spawn('ip', [...words, '-o', 'json'], { cwd: root });
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (piece) => {
    stdout += piece;
  });
  child.stderr.on('data', (piece) => {
    stderr += piece;
  });
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => {
      try {
        resolve({ code: code ?? -1, stderr, report: JSON.parse(stdout) as DoctorReport });
      } catch {
        reject(new Error(`doctor: exit ${code}: ${stderr}${stdout.slice(0, 500)}`));
      }
    });
  });
}
