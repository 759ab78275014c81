import { expect, it } from 'vitest';
import { seemsToDependOn } from '../../../src/agent/inspect/ask-up.ts';

it.each<[what: string, block: string]>([
  ['a list', 'depends_on:\n      - db\n      - app\n    image: x'],
  ['a list that is indented no further', 'depends_on:\n    - db\n    - "app"\n    image: x'],
  [
    'keys',
    'depends_on:\n      db: { condition: service_healthy }\n      # and\n\n      app:\n        condition: service_started',
  ],
  ['one line', "depends_on: [db, 'app']"],
  ['one line of keys', 'depends_on: { app: { condition: service_healthy } }'],
  ['lines that end as on Windows', 'depends_on:\r\n      - app\r\n    image: x\r'],
])('a service that depends on another is seen by its text: %s', (_, block) => {
  const text = `services:\n  app:\n    image: a\n  worker:\n    ${block}\n`;
  expect(seemsToDependOn(text, ['app', 'worker'])).toBe(true);
});

it.each<[what: string, text: string]>([
  ['none', 'services:\n  app: { image: a }\n'],
  [
    'other services',
    'services:\n  worker:\n    depends_on:\n      - db\n    networks:\n      - app\n  app:\n    image: a\n',
  ],
  ['a longer name', 'services:\n  worker:\n    depends_on: [app-db, myapp]\n    labels: [app]\n'],
])('and nothing is seen where there is %s', (_, text) => {
  expect(seemsToDependOn(text, ['app', 'worker'])).toBe(false);
});
