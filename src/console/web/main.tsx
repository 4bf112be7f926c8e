import { render } from 'preact';
import { App } from './app.tsx';
import { store } from './store.ts';
import { applyTheme, readTheme } from './theme.ts';

applyTheme(readTheme());
const root = document.getElementById('app');
if (root !== null) {
  root.replaceChildren();
  render(<App />, root);
}
void store.connect();
