/** What a newcomer types who reads the README from top to bottom: its files, commands and outputs, word for word. */
import { commandsOf, type Fence } from '../../shell-lines.ts';

export type Step =
  | { kind: 'file'; name: string; text: string }
  /** `shown` are the parts of the output that the page shows; what it leaves out it marks. */
  | { kind: 'command'; line: string; shown: string[] };

export interface Section {
  title: string;
  steps: Step[];
}

/** The sections that ask for something to be typed. */
export function readmeSections(text: string): Section[] {
  const [, ...sections] = text.split(/^## /m);
  return sections
    .map((section) => ({
      title: section.split('\n')[0]!,
      steps: [...section.matchAll(/^```(\w*)\n([\s\S]*?)^```/gm)].flatMap(
        ([, language = '', code = '']) => stepsOf({ language, text: code }),
      ),
    }))
    .filter(({ steps }) => steps.length > 0);
}

function stepsOf(fence: Fence): Step[] {
  if (fence.language === 'yaml') {
    const [, name] = /^# (\S+\.yaml)\n/.exec(fence.text) ?? [];
    if (name === undefined) throw new Error(`a file without a name:\n${fence.text}`);
    return [{ kind: 'file', name, text: fence.text }];
  }
  if (fence.language !== 'sh' && fence.language !== 'console') {
    throw new Error(`a block of kind "${fence.language}" is nothing to type:\n${fence.text}`);
  }
  const output = fence.language === 'sh' ? '' : fence.text.replace(/^\$ (?:.*\\\n)*.*\n/, '');
  const shown = output.split('…\n').filter((part) => part !== '');
  return commandsOf(fence).map((line) => ({ kind: 'command', line, shown }));
}
