import { describe, expect, it } from 'vitest';
import { composeLabels } from '../../../../src/engine/objects/labels.ts';
import { findLocalImages, restoreTags, updateTags } from '../../../../src/updater/compose/pull/local-tags.ts';
import { never } from '../../../build.ts';
import { engineThat, rememberingLog } from '../../../build-plan.ts';

const image = (reference: string) => `/images/${reference}/json?manifests=1`;
const ids = (images: ReadonlyMap<string, { id: string }>) =>
  [...images].map(([reference, { id }]) => [reference, id]);

describe('findLocalImages', () => {
  it('requests each reference once, and returns the local images in the requested order', async () => {
    const asked: string[] = [];
    const engine = await engineThat((from, to) => {
      const path = decodeURIComponent(from.url ?? '');
      asked.push(path);
      if (path === image('gone')) to.writeHead(404).end('{"message":"none"}');
      else to.end(JSON.stringify({ Id: `sha256:${path.split('/')[2]}` }));
    });
    expect(ids(await findLocalImages(engine, ['b', 'gone', 'a', 'b']))).toEqual([
      ['b', 'sha256:b'],
      ['a', 'sha256:a'],
    ]);
    expect(asked.toSorted()).toEqual(['a', 'b', 'gone'].map(image));
  });
});

describe('tags of images', () => {
  /** An engine with these responses, which records new tags or rejects them. */
  async function engineWith(answers: Record<string, unknown>, rejection: string | null = null) {
    const calls: string[] = [];
    const engine = await engineThat((from, to) => {
      const url = decodeURIComponent(from.url ?? '');
      const [, id, query] = /^\/images\/(.*)\/tag\?(.*)$/.exec(from.url ?? '') ?? [];
      if (url in answers) return to.end(JSON.stringify(answers[url]));
      if (id === undefined || rejection !== null)
        return to.writeHead(404).end(JSON.stringify({ message: rejection ?? 'none' }));
      const asked = new URLSearchParams(query);
      calls.push(`tag ${decodeURIComponent(id)} ${asked.get('repo')}:${asked.get('tag')}`);
      to.writeHead(201).end();
    });
    return { engine, calls };
  }

  /** Restores tags. `now` has image IDs by reference, and `containers` has start times by image ID. */
  async function restore(
    now: Record<string, string>,
    containers: Record<string, string> = {},
    rejection: string | null = null,
  ) {
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
    const answers = {
      [`/containers/json?all=1&filters=${filters}`]: list,
      ...Object.fromEntries([...images, ...told]),
    };
    const { engine, calls } = await engineWith(answers, rejection);
    const { log, lines } = rememberingLog();
    const before = [
      { reference: 'svc:latest', imageId: 'sha256:old' },
      { reference: 'worker:latest', imageId: 'sha256:w' },
    ];
    await restoreTags(engine, 'svc', before, log);
    return { lines, calls };
  }

  it('updateTags changes each tag that points to another image, and no other tag', async () => {
    const { engine, calls } = await engineWith({
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
    await updateTags({ engine }, new Map(pulled.map(([reference, id]) => [reference, { id }])));
    expect(calls).toEqual([
      'tag sha256:new acme/svc:latest',
      'tag sha256:redis-8 redis:latest',
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

  it('restoreTags restores each tag, also after a tag that it does not change', async () => {
    const { calls, lines } = await restore(
      { 'svc:latest': 'sha256:new', 'worker:latest': 'sha256:x' },
      { 'sha256:new': started },
    );
    expect(calls).toEqual(['tag sha256:w worker:latest']);
    expect(lines).toHaveLength(2);
  });

  it('restoreTags reports the error of the engine', async () => {
    await expect(restore({ 'svc:latest': 'sha256:new' }, {}, 'no such image')).rejects.toThrow(
      'the engine failed to tag sha256:old: no such image',
    );
  });
});
