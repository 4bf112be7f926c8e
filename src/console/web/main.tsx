import { render } from 'preact';
import { App } from './app.tsx';
import { followChangeToken } from './change-token.ts';
import { store } from './store.ts';
import { applyTheme, readTheme } from './theme.ts';

followChangeToken();
applyTheme(readTheme());
const root = document.getElementById('app');
if (root !== null) {
  root.replaceChildren();
  render(<App />, root);
}
void store.connect();
