import { describe, it } from 'vitest';
import { expectBumped, layouts } from '../slow/support/forms.ts';

// Forms of compose files that the real compose is asked about; test/slow/forms.test.ts asks about all of them.

describe.concurrent('bump moves the version and nothing else', () => {
  it.each([
    'extends over directories and back',
    'extends with variables in the file and in the service',
    'include with a project directory',
    'includes in includes',
    'include by absolute paths, nested, by way of a variable',
    'several files in other directories',
    'COMPOSE_FILE and its separator in .env',
    'merge keys in merge keys',
    'JSON in one line',
    'several documents',
    '!reset, then set again',
    'byte order marks',
    'a digest in a variable of its own, if there is one',
    'a variable in the value of a variable',
    'a variable of two services',
  ])('%s', async (name) => {
    const layout = layouts[name];
    if (layout === undefined) throw new Error(`there is no form ${name}`);
    await expectBumped(layout);
  });
});
