import { chmod, mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { findInstance } from '../../../src/agent/inspect/find-instance.ts';
import { composeLabels } from '../../../src/engine/labels.ts';
import { engineThat, runContext, updateOptions } from '../../build-plan.ts';

let root = '';
let here = '';
beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), 'find-')));
  here = join(root, 'mounted');
  await mkdir(here);
  await writeFile(join(here, 'compose.yaml'), 'services: {}\n');
  const versions = '{"Client":{"Version":"29.7.2"},"Server":{"Version":"29.8.1"}}';
  await writeFile(join(root, 'docker'), `#!/bin/sh\necho '${versions}'\n`);
  await chmod(join(root, 'docker'), 0o755);
  vi.stubEnv('PATH', `${root}:${process.env.PATH}`);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  for (const name of ['SIGINT', 'SIGTERM']) process.removeAllListeners(name);
  await rm(root, { recursive: true, force: true });
});

const listed = (project: string, directory: string, service = 'app') => ({
  Id: `${project}-${service}`,
  Names: [`/${project}-${service}-1`],
  State: 'running',
  Labels: {
    [composeLabels.project]: project,
    [composeLabels.directory]: directory,
    [composeLabels.service]: service,
    [composeLabels.number]: '1',
    [composeLabels.oneOff]: 'False',
  },
});
type Listed = ReturnType<typeof listed>;

/** An engine with these containers that tells of all of them when the test says so; which directories it was asked for. */
async function engineWithMany(all: readonly Listed[], sources: readonly string[]) {
  const held = Promise.withResolvers<ServerResponse>();
  const asked: string[] = [];
  const own = {
    Id: 'own',
    Name: '/own',
    Config: { Labels: {} },
    Mounts: sources.map((Source) => ({ Type: 'bind', Source, Destination: here, RW: true })),
  };
  const engine = await engineThat((from, to) => {
    const url = new URL(from.url ?? '', 'http://engine');
    const path = url.pathname.replace(/^\/v[\d.]+/, '');
    const { label = [] } = JSON.parse(url.searchParams.get('filters') ?? '{}') as { label?: string[] };
    const directory = label.flatMap((each) => each.split(`${composeLabels.directory}=`).slice(1))[0];
    if (path === '/version')
      to.end('{"Version":"29.8.1","Os":"linux","Arch":"amd64","ApiVersion":"1.56","MinAPIVersion":"1.40"}');
    else if (path !== '/containers/json') to.end(JSON.stringify(own));
    else if (label.length === 0) to.end('[]');
    else if (directory === undefined) held.resolve(to);
    else {
      asked.push(directory);
      to.end(JSON.stringify(all.filter(({ Labels }) => Labels[composeLabels.directory] === directory)));
    }
  });
  const tell = async () => void (await held.promise).end(JSON.stringify(all));
  return { context: runContext(engine, updateOptions()).context, asked, tell };
}

it('goes on with the project of the mounted directory while the engine lists hundreds', async () => {
  const all = [listed('svc', '/opt/svc'), listed('svc', '/opt/svc', 'db'), listed('blog', '/opt/blog')];
  const { context, asked, tell } = await engineWithMany(all, ['/opt/svc']);
  const found = await findInstance(context);
  expect(found.place).toEqual({ name: 'svc', directory: '/opt/svc', mountedAt: here });
  expect(asked).toEqual(['/opt/svc']);
  await tell();
  expect((await found.composed).map(({ id }) => id)).toEqual(['svc-app', 'svc-db', 'blog-app']);
});

it('is told by the whole list that another project may be meant as well', async () => {
  const all = [listed('svc', '/opt/svc'), listed('twin', '/srv/svc')];
  const { context, asked, tell } = await engineWithMany(all, ['/opt/svc', '/srv/svc']);
  const found = await findInstance(context);
  expect(all.map(({ Labels }) => Labels[composeLabels.directory])).toContain(asked[0]);
  expect(new Set(asked).size).toBe(1);
  await tell();
  await expect(found.composed).rejects.toThrow('several projects match');
});

it.each<[situation: string, all: readonly Listed[]]>([
  ['no app is from there', [listed('svc', '/opt/svc', 'db'), listed('other', '/data/svc')]],
  ['two apps are from there', [listed('svc', '/opt/svc'), listed('svc-2', '/opt/svc')]],
])('waits for the whole list where %s', async (_, all) => {
  const { context, asked, tell } = await engineWithMany(all, ['/opt/svc']);
  const finding = findInstance(context).then(
    ({ place }) => place.name,
    ({ message }: Error) => message,
  );
  await expect.poll(() => asked).toEqual(['/opt/svc']);
  expect(await Promise.race([finding, sleep(100, 'waits')])).toBe('waits');
  await tell();
  expect(await finding).toMatch(/^(svc|several projects match: svc .*)$/);
});
