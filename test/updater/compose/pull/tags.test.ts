import { appendFile, chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { composeLabels } from '../../../../src/engine/labels.ts';
import { localImages, moveTags, restoreTags } from '../../../../src/updater/compose/pull/tags.ts';
import { never } from '../../../build.ts';
import { engineThat, engineWith, rememberingLog } from '../../../build-plan.ts';

const image = (reference: string) => `/images/${reference}/json?manifests=1`;
const ids = (images: ReadonlyMap<string, { id: string }>) =>
  [...images].map(([reference, { id }]) => [reference, id]);

describe('localImages', () => {
  it('asks for each reference once, and has those that are here, in the order asked for', async () => {
    const asked: string[] = [];
    const engine = await engineThat((from, to) => {
      const path = decodeURIComponent(from.url ?? '');
      asked.push(path);
      if (path === image('gone')) to.writeHead(404).end('{}');
      else to.end(JSON.stringify({ Id: `sha256:${path.split('/')[2]}` }));
    });
    expect(ids(await localImages(engine, ['b', 'gone', 'a', 'b']))).toEqual([
      ['b', 'sha256:b'],
      ['a', 'sha256:a'],
    ]);
    expect(asked.toSorted()).toEqual(['a', 'b', 'gone'].map(image));
  });
});

describe('tags that docker moves', () => {
  let root = '';
  const { PATH } = process.env;
  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'tags-'));
    process.env.PATH = `${root}:${PATH}`;
    // Stands in for docker: it notes what it is told to do.
    await writeFile(join(root, 'calls'), '');
    await writeFile(join(root, 'docker'), `#!/bin/sh\nshift 4\necho "$@" >> ${join(root, 'calls')}\n`);
    await chmod(join(root, 'docker'), 0o755);
  });
  afterEach(() => {
    process.env.PATH = PATH;
    return rm(root, { recursive: true, force: true });
  });

  /** With these images behind references, and containers of the project by image. */
  async function restore(now: Record<string, string>, containers: Record<string, string> = {}) {
    const list = Object.keys(containers).map((_, index) => ({
      Id: `c${index}`,
      Labels: { [composeLabels.number]: '1' },
    }));
    const filters = '{"label":["com.docker.compose.project=svc"]}';
    const images = Object.entries(now).map(([reference, Id]) => [image(reference), { Id }]);
    const told = Object.entries(containers).map(([Image, StartedAt], index) => [
      `/containers/c${index}/json`,
      { Id: `c${index}`, Image, State: { StartedAt } },
    ]);
    const engine = await engineWith({
      [`/containers/json?all=1&filters=${filters}`]: list,
      ...Object.fromEntries([...images, ...told]),
    });
    const { log, lines } = rememberingLog();
    const before = [
      { reference: 'svc:latest', imageId: 'sha256:old' },
      { reference: 'worker:latest', imageId: 'sha256:w' },
    ];
    await restoreTags(engine, 'svc', before, log);
    return { lines, calls: await calls() };
  }
  const calls = async () => (await readFile(join(root, 'calls'), 'utf8')).split('\n').filter(Boolean);

  it('moveTags moves each tag that names another image, and none that names the image already', async () => {
    const engine = await engineWith({
      [image('acme/svc:latest')]: { Id: 'sha256:old' },
      [image('redis')]: { Id: 'sha256:redis-7' },
      [image('acme/svc:v1.1.0')]: { Id: 'sha256:new' },
      [image(`acme/svc@sha256:${'d'.repeat(64)}`)]: { Id: 'sha256:old' },
    });
    const pulled = [
      ['acme/svc:latest', 'sha256:new'],
      ['redis', 'sha256:redis-8'],
      ['acme/svc:v1.1.0', 'sha256:new'],
      [`acme/svc@sha256:${'d'.repeat(64)}`, 'sha256:new'],
      ['acme/gone:v1', 'sha256:gone'],
      ['d'.repeat(64), 'sha256:id'],
    ] as const;
    await moveTags({ engine }, new Map(pulled.map(([reference, id]) => [reference, { id }])));
    expect(await calls()).toEqual([
      'tag sha256:new acme/svc:latest',
      'tag sha256:redis-8 redis',
      'tag sha256:gone acme/gone:v1',
    ]);
  });

  const back = 'info: svc:latest points to the previous image again';
  const started = '2026-11-21T10:00:00Z';

  it.each<[string, Record<string, string>, Record<string, string>, string[], string[]]>([
    [
      'puts back what names another',
      { 'svc:latest': 'sha256:new' },
      {},
      ['tag sha256:old svc:latest'],
      [back],
    ],
    [
      'puts back what was made and never started',
      { 'svc:latest': 'sha256:new' },
      { 'sha256:new': never },
      ['tag sha256:old svc:latest'],
      [back],
    ],
    [
      'leaves what somebody has started',
      { 'svc:latest': 'sha256:new' },
      { 'sha256:old': started, 'sha256:new': started },
      [],
      ['warn: svc:latest still points to the new image, because a container was started from that image'],
    ],
  ])('restoreTags %s', async (_, now, containers, calls, lines) => {
    expect(await restore({ 'worker:latest': 'sha256:w', ...now }, containers)).toEqual({ calls, lines });
  });

  it('puts back each of several, also after one that stays', async () => {
    const { calls, lines } = await restore(
      { 'svc:latest': 'sha256:new', 'worker:latest': 'sha256:x' },
      { 'sha256:new': started },
    );
    expect(calls).toEqual(['tag sha256:w worker:latest']);
    expect(lines).toHaveLength(2);
  });

  it('says what docker says where it does not', async () => {
    await appendFile(join(root, 'docker'), 'echo "no such image" >&2\nexit 1\n');
    await expect(restore({ 'svc:latest': 'sha256:new' })).rejects.toThrow(
      'docker tag sha256:old failed: no such image',
    );
  });
});
