import { describe, expect, it } from 'vitest';
import { fresh, layouts } from '../recorded/forms.ts';
import { bump } from './support/bump.ts';
import { expectMoved } from './support/forms.ts';

// Some forms of compose files, with the real compose; test/recorded/forms.test.ts has all forms, with recorded output.

describe.concurrent('bump changes only the version', () => {
  it.each([
    ['image', 'extends over directories and back'],
    ['host', 'extends with variables in the file and in the service'],
    ['image', 'include with a project directory'],
    ['image', 'includes in includes'],
    ['host', 'include by absolute paths, nested, by way of a variable'],
    ['host', 'several files in other directories'],
    ['image', 'COMPOSE_FILE and its separator in .env'],
    ['host', 'merge keys in merge keys'],
    ['host', 'JSON in one line'],
    ['host', 'several documents'],
    ['host', '!reset, then set again'],
    ['host', 'byte order marks'],
    ['host', 'a digest in a variable of its own, if there is one'],
    ['host', 'a variable in the value of a variable'],
    ['host', 'a variable of two services'],
  ] as const)('with the compose of the %s: %s', async (where, name) => {
    const layout = layouts[name];
    if (layout === undefined) throw new Error(`there is no form ${name}`);
    await expectMoved(layout, async (directory) => {
      const asked = (layout.services ?? ['app']).flatMap((service) => ['--service', service]);
      const args = ['--to', `v${fresh.version}`, ...asked, ...(layout.args ?? [])];
      const { exitCode, log } = await bump(directory, args, where);
      expect({ exitCode, log }).toMatchObject({ exitCode: 0 });
    });
  });
});
