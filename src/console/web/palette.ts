/**
 * Colours of the map: muted tints of one lightness, as on a survey sheet, far
 * enough apart to tell racks from each other. Names get them in order, so that a
 * colour does not jump when another name appears at the end.
 */
const hues = [188, 62, 330, 128, 262, 28, 226, 96, 295, 158, 5, 44];

export interface Ink {
  paper: string;
  space: string;
  line: string;
  ink: string;
  muted: string;
  alert: string;
  accent: string;
  isDark: boolean;
}

/** From the style sheet, so that the canvas and the page are one. */
export function readInk(): Ink {
  const style = getComputedStyle(document.documentElement);
  const read = (name: string) => style.getPropertyValue(name).trim();
  return {
    paper: read('--paper'),
    space: read('--space'),
    line: read('--line'),
    ink: read('--ink'),
    muted: read('--muted'),
    alert: read('--alert'),
    accent: read('--accent'),
    isDark: read('--is-dark') === '1',
  };
}

/** Red, green, blue of the n-th tint. */
export function tint(index: number, isDark: boolean): [number, number, number] {
  const hue = index < hues.length ? (hues[index] as number) : (index * 137.508) % 360;
  const round = Math.floor(index / hues.length) % 3;
  return isDark
    ? hslToRgb(hue, 0.34 + 0.06 * round, 0.29 - 0.03 * round)
    : hslToRgb(hue, 0.36 + 0.06 * round, 0.69 - 0.06 * round);
}

export function css([r, g, b]: readonly [number, number, number]): string {
  return `rgb(${r}, ${g}, ${b})`;
}

/** Names in a stable order → the number of their tint. */
export function tintNumbers(names: Iterable<string>): Map<string, number> {
  const sorted = [...new Set(names)].sort((a, b) => a.localeCompare(b, 'en', { numeric: true }));
  return new Map(sorted.map((name, index) => [name, index]));
}

function hslToRgb(hue: number, saturation: number, lightness: number): [number, number, number] {
  const spread = saturation * Math.min(lightness, 1 - lightness);
  const channel = (n: number) => {
    const k = (n + hue / 30) % 12;
    return Math.round(255 * (lightness - spread * Math.max(-1, Math.min(k - 3, 9 - k, 1))));
  };
  return [channel(0), channel(8), channel(4)];
}
