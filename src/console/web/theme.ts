/** Light, dark, or as the system has it. */
import { useEffect, useState } from 'preact/hooks';

export type Theme = 'system' | 'light' | 'dark';
const key = 'cadastre-theme';

export function readTheme(): Theme {
  try {
    const kept = localStorage.getItem(key);
    return kept === 'light' || kept === 'dark' ? kept : 'system';
  } catch {
    return 'system';
  }
}

export function applyTheme(theme: Theme): void {
  document.documentElement.dataset.theme = theme;
  try {
    if (theme === 'system') localStorage.removeItem(key);
    else localStorage.setItem(key, theme);
  } catch {
    // A browser that keeps nothing: the choice lasts as long as the page.
  }
  window.dispatchEvent(new Event('cadastre-theme'));
}

/** Goes up when colours change, so that a canvas knows. */
export function useThemeVersion(): number {
  const [version, setVersion] = useState(0);
  useEffect(() => {
    const next = () => setVersion((before) => before + 1);
    const system = matchMedia('(prefers-color-scheme: dark)');
    system.addEventListener('change', next);
    window.addEventListener('cadastre-theme', next);
    return () => {
      system.removeEventListener('change', next);
      window.removeEventListener('cadastre-theme', next);
    };
  }, []);
  return version;
}
