import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { addProjectOptions } from '../../../../src/updater/compose/inspect/choose-workers.ts';
import { parseCommandLine } from '../../../../src/updater/run/options/command-line.ts';
import { readExpectedDigests } from '../../../../src/updater/run/release/expected-digests.ts';
import { engineWith, runContext, updateOptions } from '../../../build-plan.ts';
import { archiveOf } from '../../../provenance/archive.ts';
import { publisher } from '../../../provenance/sign.ts';
import { temporaryDirectory } from '../../../rig/temporary-directory.ts';

const digest = (digit: string) => `sha256:${digit.repeat(64)}`;
const release = {
  ...{ format: 1, product: 'svc', version: 'v1.5.0', channel: 'stable', publishedAt: '2026-11-20T08:00:00Z' },
  images: {
    app: {
      reference: 'ghcr.io/acme/svc:v1.5.0',
      digest: digest('a'),
      platforms: {
        'linux/amd64': { manifest: digest('b'), config: digest('c'), layers: { [digest('e')]: 7 } },
      },
    },
  },
  files: { 'compose.yaml': digest('d') },
};
const anna = publisher();
let folder: string;
beforeEach(async () => {
  folder = await temporaryDirectory();
});

async function given(more: { file?: string; bundle?: string; trust?: string } = {}): Promise<string[]> {
  const file = more.file ?? JSON.stringify(release);
  await writeFile(join(folder, 'release.json'), file);
  await writeFile(join(folder, 'release.json.sigstore.json'), more.bundle ?? anna.sign(Buffer.from(file)));
  await writeFile(join(folder, 'key.pem'), more.trust ?? anna.key);
  return ['--release', folder, '--trust', join(folder, 'key.pem')];
}
async function givenArchive() {
  const file = JSON.stringify(release);
  const archive = join(folder, 'release.tar');
  await given();
  await writeFile(
    archive,
    archiveOf([
      ['release.json', file],
      ['release.json.sigstore.json', anna.sign(Buffer.from(file))],
    ]),
  );
  return { archive, args: ['--archive', archive, '--trust', join(folder, 'key.pem')] };
}
const asked = (args: readonly string[], platform = 'linux/amd64') =>
  readExpectedDigests(updateOptions(...args), platform);

describe('expected digests of a release', () => {
  it('are null if no option is set', async () => {
    expect(await asked([])).toBeNull();
  });

  it('are null if the trust file is only for a channel file', async () => {
    const [, , ...trust] = await given();
    expect(await asked(['--channel-file', join(folder, 'channel.json'), ...trust])).toBeNull();
  });

  it('include all digests of the options', async () => {
    const told = await asked([
      ...['--expect', `app=${digest('a')}`, '--expect', `app=${digest('b')}`],
      ...['--expect', `ghcr.io/acme/worker=${digest('c')}`, '--expect-file', `compose.yaml=${digest('d')}`],
    ]);
    expect(told).toEqual({
      images: new Map([
        ['app', new Set([digest('a'), digest('b')])],
        ['ghcr.io/acme/worker', new Set([digest('c')])],
      ]),
      files: new Map([['compose.yaml', digest('d')]]),
      layers: new Map(),
    });
  });

  it.each([[], ['--target', 'v1.5.0'], ['--target', '1.5.0']])(
    'are those in the signed release.json, for the service and for the repository, with the options %j',
    async (...target) => {
      const names = ['app', 'ghcr.io/acme/svc'];
      expect(await asked([...(await given()), ...target])).toEqual({
        images: new Map(names.map((name) => [name, new Set(['a', 'b', 'c'].map(digest))])),
        files: new Map([['compose.yaml', digest('d')]]),
        layers: new Map(names.map((name) => [name, { [digest('e')]: 7 }])),
      });
    },
  );

  it.each<[string, Parameters<typeof given>[0], string[], string]>([
    [
      'is signed by another',
      { bundle: publisher().sign(Buffer.from(JSON.stringify(release))) },
      [],
      'not signed with a trusted key',
    ],
    ['is another release', {}, ['--target', 'v1.6.0'], 'the signed version is v1.5.0, not v1.6.0'],
    [
      'is another product',
      { file: JSON.stringify({ ...release, product: 'acme' }) },
      [],
      'a release of acme, not of svc',
    ],
    ['nobody is trusted for', { trust: '' }, [], 'key.pem: it contains neither EC or RSA public keys'],
  ])('are rejected if the release %s', async (_, more, args, why) => {
    await expect(asked([...(await given(more)), ...args])).rejects.toMatchObject({
      code: 'not-proven',
      message: expect.stringContaining(why),
    });
  });

  it.each(['1.5', 'v1'])('are rejected for an archive if the target %s has fewer numbers', async (target) => {
    const { archive, args } = await givenArchive();
    expect(await asked([...args, '--target', '1.5.0'])).not.toBeNull();
    await expect(asked([...args, '--target', target])).rejects.toMatchObject({
      code: 'not-proven',
      message: `${archive}: the signed version is v1.5.0, not ${target}`,
    });
  });

  it('set the target for an archive, with and without a settings file', async () => {
    const { args } = await givenArchive();
    const line = parseCommandLine([...args, '--service', 'app'], {});
    const { context } = runContext(await engineWith({}));
    const place = { name: 'svc', directory: folder, mountedAt: folder };
    const target = async () =>
      (await addProjectOptions({ ...context, line, onCrash: () => {} }, place)).options.target;
    expect(await target()).toMatchObject({ tag: 'v1.5.0' });
    await writeFile(join(folder, '.svc-updater.yaml'), 'wait-timeout: 600\n');
    expect(await target()).toMatchObject({ tag: 'v1.5.0' });
  });

  it('include the new settings of the release', async () => {
    const settings = [{ name: 'MAIL_FROM', description: 'sender', required: true, secret: false }];
    const file = JSON.stringify({ ...release, settings });
    expect((await asked(await given({ file })))?.settings).toEqual(settings);
  });

  it('are rejected for a platform that the release does not have', async () => {
    const message = `${folder}/release.json lists no image of app for linux/arm64`;
    await expect(asked(await given(), 'linux/arm64')).rejects.toMatchObject({ code: 'not-proven', message });
  });

  it('include all variants of the platform', async () => {
    const [app] = Object.values(release.images);
    const platforms = {
      'linux/arm/v6': { manifest: digest('1'), config: digest('2') },
      'linux/arm/v7': { manifest: digest('3'), config: digest('4') },
      'linux/arm64': { manifest: digest('5'), config: digest('6') },
    };
    const file = JSON.stringify({ ...release, images: { app: { ...app, platforms } } });
    const told = await asked(await given({ file }), 'linux/arm');
    expect(told?.images.get('app')).toEqual(new Set(['a', '1', '2', '3', '4'].map(digest)));
  });
});
