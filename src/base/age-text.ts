/** How old something is, as `kubectl get` writes it: coarser the older, two figures at most. */
export function ageText(ms: number): string {
  // Two clocks never agree: what is a moment ahead of ours is new.
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 120) return `${seconds}s`;
  const pair = (whole: number, unit: string, rest: number, restUnit: string) =>
    rest === 0 ? `${whole}${unit}` : `${whole}${unit}${rest}${restUnit}`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 10) return pair(minutes, 'm', seconds % 60, 's');
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  if (hours < 8) return pair(hours, 'h', minutes % 60, 'm');
  if (hours < 48) return `${hours}h`;
  const days = Math.floor(hours / 24);
  if (days < 8) return pair(days, 'd', hours % 24, 'h');
  if (days < 730) return `${days}d`;
  if (days < 2920) return pair(Math.floor(days / 365), 'y', days % 365, 'd');
  return `${Math.floor(days / 365)}y`;
}
