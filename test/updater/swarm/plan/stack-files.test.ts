import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { planServiceUpdates } from '../../../../src/updater/swarm/plan/plan-service-updates.ts';
import { readStackFiles } from '../../../../src/updater/swarm/plan/stack-files.ts';
import { engineThat, runContext, target, updateOptions } from '../../../build-plan.ts';
import { serviceWith, specWith } from '../../../build-stack.ts';
import { temporaryDirectory } from '../../../rig/temporary-directory.ts';

/** Prints the last file like `docker stack config`, and records the environment of the call. */
const docker = `#!${process.execPath}
const { appendFileSync, readFileSync } = require('node:fs');
appendFileSync(__dirname + '/calls', JSON.stringify(process.env) + '\\n');
const text = readFileSync(process.argv.at(-1), 'utf8');
process.stdout.write(text.replace(/\\$(\\w+)/g, (_, name) => process.env[name] ?? ''));
`;

let folder: string;
let programs: string;
beforeEach(async () => {
  folder = await temporaryDirectory();
  programs = join(folder, 'bin');
  await mkdir(programs);
  await writeFile(join(programs, 'docker'), docker);
  await chmod(join(programs, 'docker'), 0o755);
  vi.stubEnv('PATH', programs);
  onTestFinished(() => {
    vi.unstubAllEnvs();
  });
});

interface Stage {
  /** References in the specs. */
  app: string;
  worker: string;
  to?: string;
  text: string;
  env?: string;
  left?: readonly string[];
}

async function read({ app, worker, to = 'v1.7.0', text, env = '', left = [] }: Stage) {
  await writeFile(join(folder, 'compose.yaml'), text);
  await writeFile(join(folder, '.env'), env);
  const service = (name: string, image: string) =>
    serviceWith(specWith({ name, image: `${image}@sha256:a` }));
  const chosen = {
    ...{ name: 'svc', app: service('svc_app', app), workers: [service('svc_worker', worker)], services: [] },
  };
  const options = updateOptions('--target', to);
  const plan = planServiceUpdates(chosen, [], { target: target(to), product: options.product });
  const { context } = runContext(await engineThat((_, answer) => answer.writeHead(404).end()), options);
  return readStackFiles(context, folder, { chosen, plan, left });
}

const fileOf = (app: string, worker: string) =>
  `services:\n  app: {image: "${app}"}\n  worker: {image: "${worker}"}\n`;
const svc = (version: string) => `acme/svc:v${version}`;

describe('the files of a stack', () => {
  const afterBroken = { app: svc('1.6.0'), worker: svc('1.4.2'), left: [svc('1.6.0'), svc('1.4.2')] };
  it.each<[name: string, stage: Stage, accepted: boolean]>([
    [
      'name the running versions',
      { app: svc('1.4.2'), worker: svc('1.4.2'), text: fileOf(svc('1.4.2'), svc('1.4.2')) },
      true,
    ],
    [
      'name the target',
      { app: svc('1.4.2'), worker: svc('1.4.2'), text: fileOf(svc('1.7.0'), svc('1.7.0')) },
      true,
    ],
    [
      'name another version',
      { app: svc('1.4.2'), worker: svc('1.4.2'), text: fileOf(svc('1.3.0'), svc('1.3.0')) },
      false,
    ],
    [
      'name another version for the worker',
      { app: svc('1.6.0'), worker: svc('1.4.2'), text: fileOf(svc('1.6.0'), svc('1.6.0')) },
      false,
    ],
    [
      'name the version of a broken run for all',
      { ...afterBroken, text: fileOf(svc('1.6.0'), svc('1.6.0')) },
      true,
    ],
    ['were restored by a broken run', { ...afterBroken, text: fileOf(svc('1.4.2'), svc('1.4.2')) }, true],
    [
      'name a broken version, and the record is of a later run that failed',
      { ...afterBroken, left: [svc('1.6.5'), svc('1.4.2')], text: fileOf(svc('1.6.0'), svc('1.6.0')) },
      true,
    ],
    [
      'are of another variant, and name the broken version',
      {
        app: 'acme/svc:1.6.0-alpine',
        worker: 'acme/jobs:1.4.2',
        to: '1.7.0',
        left: ['acme/svc:1.4.2-alpine'],
        text: fileOf('acme/svc:1.6.0-alpine', 'acme/jobs:1.6.0'),
      },
      true,
    ],
    [
      'name another version after a broken run',
      { ...afterBroken, text: fileOf(svc('1.5.0'), svc('1.5.0')) },
      false,
    ],
    [
      'name another repository after a broken run',
      { ...afterBroken, text: fileOf(svc('1.6.0'), 'acme/other:v1.6.0') },
      false,
    ],
  ])('are accepted or rejected if they %s', async (_, stage, accepted) => {
    const found = read(stage);
    if (accepted) await expect(found).resolves.toMatchObject({ reader: 'stack' });
    else await expect(found).rejects.toMatchObject({ code: 'stack-file' });
  });

  it('receive only those variables of .env that they refer to, and no other program is called', async () => {
    const other = join(folder, 'other');
    await mkdir(other);
    await writeFile(join(other, 'docker'), `#!/bin/sh\n: >${folder}/called\n`);
    await chmod(join(other, 'docker'), 0o755);
    const stage = { app: svc('1.4.2'), worker: svc('1.4.2') };
    const env = `PATH=${other}\nHOME=/elsewhere\nTAG=v1.4.2\nPASSWORD=secret\n`;
    const text = fileOf('acme/svc:$TAG', 'acme/svc:$TAG');
    const escaped = `${text}x-escaped: "$$PATH $$$$HOME"\n`;
    await expect(read({ ...stage, text: escaped, env })).resolves.toMatchObject({ needsEnvFile: true });
    // A file may refer to any variable.
    await expect(read({ ...stage, text: `${text}x-path: "$PATH"\n`, env })).resolves.toMatchObject({
      needsEnvFile: true,
    });
    const calls = (await readFile(join(programs, 'calls'), 'utf8'))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(calls.map(({ PATH, HOME, TAG, PASSWORD }) => [PATH, HOME, TAG, PASSWORD])).toEqual([
      [programs, '/', undefined, undefined],
      [programs, '/', 'v1.4.2', undefined],
      [programs, '/', undefined, undefined],
      [other, '/', 'v1.4.2', undefined],
    ]);
    await expect(readFile(join(folder, 'called'))).rejects.toThrow('ENOENT');
  });
});
