// biome-ignore-all lint/suspicious/noTemplateCurlyInString: compose's own variables
import { createHash } from 'node:crypto';
import { json } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import type { ProjectFiles } from '../../../../src/core/compose/project-files.ts';
import { createProduct, svcProduct } from '../../../../src/core/names/product.ts';
import type { Engine } from '../../../../src/engine/cli/engine.ts';
import {
  readComposeFileReplacements,
  releaseDirectoryOf,
} from '../../../../src/updater/compose/prepare/read-compose-file-replacements.ts';
import { image } from '../../../build.ts';
import {
  at,
  composeText,
  engineThat,
  generated,
  installed,
  modelOf,
  projectFiles,
} from '../../../build-plan.ts';
import { type TarEntry, tar } from '../../../rig/tar.ts';

type Shipped = Record<string, string | Buffer | TarEntry>;
const directory = '/usr/share/svc/release';

/** An engine with images that contain these files; `left` are containers that were created and not removed. */
async function shipping(images: Record<string, Shipped>): Promise<{ engine: Engine; left: Set<string> }> {
  const left = new Set<string>();
  const engine = await engineThat(async (from, to) => {
    const { pathname, searchParams } = new URL(from.url ?? '', 'http://engine');
    const [, , id = ''] = pathname.split('/').map(decodeURIComponent);
    const file = images[id]?.[searchParams.get('path') ?? ''];
    if (from.method === 'POST') {
      const { Image } = (await json(from)) as { Image: string };
      left.add(Image);
      to.writeHead(201).end(JSON.stringify({ Id: Image }));
    } else if (from.method === 'DELETE') {
      left.delete(id);
      to.writeHead(204).end();
    } else if (file === undefined) to.writeHead(404).end('{"message":"not there"}');
    else {
      const isText = typeof file === 'string' || Buffer.isBuffer(file);
      to.end(tar([isText ? { name: 'x', kind: 'file', content: file } : file]));
    }
  });
  return { engine, left };
}

const own = generated({ app: 'acme/svc:${SVC_VERSION:-latest}' });
const next = generated({ app: 'acme/svc:${SVC_VERSION:-stable}' });
const cluster = '# svc:generated\nservices: {}\n';
const main = `${directory}/compose.yaml`;
const other = `${directory}/compose.cluster.yaml`;

async function taken(
  texts: Record<string, string>,
  images: Record<string, Shipped>,
  labels = {},
  id = 'new',
  proven: ReadonlyMap<string, string> = new Map(),
) {
  const { engine, left } = await shipping(images);
  const imagesInUse = new Map(Object.keys(images).map((each) => [each, image(each)] as const));
  const model = modelOf(projectFiles({ 'compose.yaml': own }));
  const from = installed(texts, { kind: 'generated', model, imagesInUse });
  const found = readComposeFileReplacements(engine, from, image(id, { labels }), {
    backup: '.svc-updater/backup/1',
    proven,
  });
  // All containers are removed, even after an error.
  await found.catch(() => {});
  expect([...left]).toEqual([]);
  const { texts: released, warnings } = await found;
  return {
    names: released.map(({ path, text }) => [path, text]),
    descriptions: released.map(({ description }) => description),
    warnings,
  };
}

describe('takeReleaseFiles', () => {
  it('returns files that differ, with a description for the log', async () => {
    expect(
      await taken({ 'compose.yaml': own }, { new: { [main]: next }, 'sha256:old': { [main]: own } }),
    ).toEqual({
      names: [[at('compose.yaml'), next]],
      descriptions: ['compose.yaml: replaced with the file from the new release'],
      warnings: [],
    });
  });

  it('reads the directory in the image label, without a warning if the running image is missing', async () => {
    const found = await taken(
      { 'compose.yaml': own },
      { new: { '/srv/files/compose.yaml': next } },
      { 'svc.release-files': '/srv/files' },
    );
    expect(found).toMatchObject({ names: [[at('compose.yaml'), next]], warnings: [] });
  });

  const edited =
    'compose.yaml was edited manually; the update will overwrite the file and keep a backup in .svc-updater/backup/1/compose.yaml';
  it.each<[string, Record<string, Shipped>, string]>([
    [
      'that the running release did not ship like this',
      { new: { [main]: next }, 'sha256:old': { [main]: cluster } },
      'new',
    ],
    ['that differs where the release runs already', { 'sha256:old': { [main]: next } }, 'sha256:old'],
  ])('warns about a manually edited file %s', async (_, images, id) => {
    expect((await taken({ 'compose.yaml': own }, images, {}, id)).warnings).toEqual([edited]);
  });

  it('overwrites a file without the marker, and reports the backup', async () => {
    const texts = { 'compose.yaml': own, 'compose.cluster.yaml': 'services: {}\n' };
    const shipped = { [main]: own, [other]: cluster };
    expect(await taken(texts, { new: shipped, 'sha256:old': shipped })).toMatchObject({
      names: [[at('compose.cluster.yaml'), cluster]],
      warnings: [
        'the first line of compose.cluster.yaml is not "# svc:generated"; the update will overwrite the file and keep a backup in .svc-updater/backup/1/compose.cluster.yaml',
      ],
    });
  });

  const includes = '# svc:generated\ninclude: [compose.cluster.yaml]\n';
  const linkedFiles = [{ path: at('compose.cluster.yaml'), text: '# svc:generated\n' }];
  it.each<[string, ProjectFiles, string[]]>([
    [
      'by include',
      { ...projectFiles({ 'compose.yaml': includes }), linkedFiles },
      ['compose.yaml', 'compose.cluster.yaml'],
    ],
    [
      'not, but one of that name elsewhere, by include',
      projectFiles({ 'compose.yaml': '# svc:generated\ninclude: [parts/compose.cluster.yaml]\n' }),
      ['compose.yaml'],
    ],
    ['alone', projectFiles({ 'compose.cluster.yaml': '# svc:generated\n' }), ['compose.cluster.yaml']],
  ])('returns the cluster file if the install uses it %s', async (_, files, expected) => {
    const model = modelOf(projectFiles({ 'compose.yaml': own }));
    const { engine } = await shipping({ new: { [main]: next, [other]: cluster } });
    // These files may contain no app, so the pin comes from another file.
    const from = { ...installed({ 'compose.yaml': own }, { kind: 'generated', model }), files };
    const { texts } = await readComposeFileReplacements(engine, from, image('new'), { backup: 'backup' });
    expect(texts.map(({ path }) => path)).toEqual(expected.map(at));
  });

  it.each<[string, Shipped, string, string]>([
    [
      'no file',
      {},
      'release-file',
      'the release has no compose.yaml in /usr/share/svc/release, but this installation uses that file',
    ],
    [
      'a link',
      { [main]: { name: 'x', kind: 'link', target: '/etc/passwd' } },
      'release-file',
      "the release's compose.yaml is not a regular file",
    ],
    [
      'too much',
      { [main]: `# svc:generated\n${'#'.repeat(1024 * 1024)}` },
      'release-file',
      "the release's compose.yaml is larger than 1 MiB",
    ],
    [
      'no text',
      { [main]: Buffer.from([0xff, 0xfe]) },
      'release-file',
      "the release's compose.yaml is not UTF-8 text",
    ],
    [
      'no marker',
      { [main]: composeText({ app: 'x' }) },
      'no-marker',
      'the release\'s compose.yaml does not start with "# svc:generated"',
    ],
  ])('refuses a release with %s', async (_, shipped, code, message) => {
    await expect(taken({ 'compose.yaml': own }, { new: shipped })).rejects.toThrow(
      expect.objectContaining({ code, message }),
    );
  });

  it('refuses a file that does not match the verified digest', async () => {
    const digest = (text: string) => `sha256:${createHash('sha256').update(text).digest('hex')}`;
    const attempt = (text: string) =>
      taken(
        { 'compose.yaml': own },
        { new: { [main]: next } },
        {},
        'new',
        new Map([['compose.yaml', digest(text)]]),
      );
    expect((await attempt(next)).names).toHaveLength(1);
    const message = `the release's compose.yaml (${digest(next)}) does not match the verified file`;
    await expect(attempt(`${next} `)).rejects.toThrow(
      expect.objectContaining({ code: 'not-proven', message }),
    );
  });
});

const larder = createProduct({ name: 'larder' });

it.each([
  [svcProduct, {}, '/usr/share/svc/release'],
  [larder, {}, '/usr/share/larder/release'],
  [larder, { 'larder.release-files': '/x' }, '/x'],
  [createProduct({ name: 'larder', releaseDirectory: '/release' }), {}, '/release'],
])('for product %j and labels %j, the release files are in %s', (product, labels, directory) => {
  expect(releaseDirectoryOf(labels, product)).toBe(directory);
});
