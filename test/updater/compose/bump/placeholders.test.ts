// biome-ignore-all lint/suspicious/noTemplateCurlyInString: compose's own variables
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { createEnvPlaceholders } from '../../../../src/updater/compose/bump/plan-bump.ts';
import { temporaryDirectory } from '../../../rig/temporary-directory.ts';

let root = '';
beforeEach(async () => {
  root = await temporaryDirectory();
});

/** Placeholders for a compose file, its env file and its linked file. Only `there.env` exists on the disk. */
async function found(text: string, env = '', linked = '') {
  await writeFile(join(root, 'there.env'), '');
  const file = (name: string, content: string) => ({ path: join(root, name), text: content });
  return createEnvPlaceholders({
    composeFiles: [file('compose.yaml', text)],
    envFiles: [file('.env', env)],
    newEnvFile: join(root, '.env'),
    linkedFiles: [file('linked.yaml', linked)],
  });
}

describe('createPlaceholders with required variables', () => {
  it.each<[string, string, string, string[]]>([
    ['in an env file', 'x: 1', 'A=${B:?}', ['B=1\n']],
    ['inside another one', 'x: "${A:-${B:?}}"', '', ['B=1\n']],
    ['but for those that are not required', 'x: "$A ${B} ${C:-1} ${D-} ${E:+?}"', '', []],
  ])('sets the variables %s', async (_, text, env, expected) => {
    expect(await found(text, env)).toEqual({ envFiles: expected, composeFiles: [] });
  });
});

describe('createPlaceholders with env files', () => {
  const without = (...names: string[]) => [
    `services:\n${names.map((name) => `  "${name}": {env_file: !reset []}\n`).join('')}`,
  ];
  const service = (file: string, name = 'app') => `  ${name}: {image: svc, env_file: ${file}}\n`;

  it.each<[string, string, string[]]>([
    ['none, where there is no env file', `services:\n  app: {image: svc}\n`, []],
    [
      'all services, where one is missing',
      `services:\n${service('there.env', 'db')}${service('gone.env')}`,
      without('db', 'app'),
    ],
    ['none, where a variable leads to one that is there', `services:\n${service('"${A:-there}.env"')}`, []],
  ])('resets env_file of %s', async (_, text, expected) => {
    expect(await found(text)).toEqual({ envFiles: [], composeFiles: expected });
  });

  it('treats an env file whose path needs a required variable as missing', async () => {
    const text = `services:\n${service('"${A:?}.env"')}`;
    expect(await found(text)).toEqual({ envFiles: ['A=1\n'], composeFiles: without('app') });
    expect(await found(text, 'A=there')).toEqual({ envFiles: [], composeFiles: [] });
  });

  it('also resets env_file of services of included files', async () => {
    const text = `include: [linked.yaml]\nservices:\n${service('there.env')}`;
    const linked = `services:\n${service('gone.env', 'cron')}`;
    expect((await found(text, '', linked)).composeFiles).toEqual(without('app', 'cron'));
  });

  it('does not reset env_file of services of extended files', async () => {
    const text = `services:\n  app: {extends: {file: linked.yaml, service: base}}\n`;
    const linked = `services:\n${service('gone.env', 'base')}`;
    expect((await found(text, '', linked)).composeFiles).toEqual(without('app'));
  });
});
