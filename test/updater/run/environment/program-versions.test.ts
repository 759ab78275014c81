import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import {
  readProgramVersions,
  requireCompatiblePrograms,
} from '../../../../src/updater/run/environment/program-versions.ts';
import { engine as engineAt } from '../../../build.ts';
import { startEngine } from '../../../engine/http-engine.ts';
import { temporaryDirectory } from '../../../rig/temporary-directory.ts';

let directory = '';
beforeEach(async () => {
  directory = await temporaryDirectory();
  const script = `#!/bin/sh
case "$*" in
*'compose version'*) echo 5.9.9 ;;
*) echo 29.9.9 ;;
esac
`;
  await writeFile(join(directory, 'docker'), script, { mode: 0o755 });
  vi.stubEnv('PATH', `${directory}:${process.env.PATH}`);
});
afterEach(() => void vi.unstubAllEnvs());

const noted = { cli: '29.7.2', api: '1.55', compose: '5.4.0' };
const asked = { cli: '29.9.9', compose: '5.9.9' };

it('uses the stored versions if the docker CLI supports the engine', async () => {
  expect(await found(noted, {})).toMatchObject({ cli: noted.cli, compose: noted.compose });
});

it.each<
  [what: string, given: object | null, engine: { api?: [oldest: string, newest: string]; ping?: number }]
>([
  ['nothing is noted', null, {}],
  ['the engine may be too old for the docker command', noted, { api: ['1.12', '1.43'] }],
  ['the engine is too new for it', noted, { api: ['1.56', '1.60'] }],
  ['nobody knows what a docker command to come needs', { ...noted, cli: '30.0.0' }, {}],
  ['what stands before the engine lets no ping through', noted, { ping: 403 }],
])('runs the programs to determine their versions if %s', async (_, given, engine) => {
  expect(await found(given, engine)).toEqual(asked);
});

it('reads the versions that the build stored', async () => {
  const file = join(directory, 'programs.json');
  await writeFile(file, '{"cli":"29.7.2","api":"1.55","compose":"v5.4.0"}\n');
  expect(await readProgramVersions(file)).toEqual({ ...noted, compose: 'v5.4.0' });
});

async function found(
  given: object | null,
  { api: [oldest, newest] = ['1.40', '1.56'], ping = 200 }: { api?: [string, string]; ping?: number },
) {
  const file = join(directory, 'programs.json');
  if (given !== null) await writeFile(file, JSON.stringify(given));
  const host = await startEngine((from, to) => {
    to.setHeader('Api-Version', newest);
    if (from.url === '/_ping') return void to.writeHead(ping).end();
    const said = { Version: '29.8.1', Os: 'linux', Arch: 'amd64', ApiVersion: newest, MinAPIVersion: oldest };
    to.end(JSON.stringify(said));
  });
  const engine = engineAt(host);
  return requireCompatiblePrograms(engine, engine.getFacts(), file);
}
