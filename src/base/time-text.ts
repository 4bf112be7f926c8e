/** `2026-01-02T03:04:05Z`, as Kubernetes writes times: whole seconds, UTC. */
export function timeText(wallMs: number): string {
  return `${new Date(wallMs).toISOString().slice(0, 19)}Z`;
}
