import { describe, expect, it } from 'vitest';
import type { Pin } from '../../../../src/core/compose/pins/pin.ts';
import { parsePinTag } from '../../../../src/core/release/pin-tag.ts';
import type { Engine } from '../../../../src/engine/cli/engine.ts';
import {
  chooseVersionTag,
  requirePublishedService,
} from '../../../../src/updater/compose/enable/choose-version-tag.ts';
import type { Installation } from '../../../../src/updater/compose/inspect/installation.ts';
import type { Log } from '../../../../src/updater/run/log/run-log.ts';

const running = `sha256:${'a'.repeat(64)}`;
const newer = `sha256:${'b'.repeat(64)}`;

const pinOf = (tag: string, service = 'app') =>
  ({ service, tag: parsePinTag(tag), reference: { repository: `acme/${service}` } }) as Pin;

/** `published` has digests by reference; null stands for a registry that does not respond. */
function world(published: Record<string, string> | null, version: string | null = '1.4.2', prefix = 'v') {
  const warnings: string[] = [];
  const engine = {
    findRemoteDigest: async ({ repository, tag }: { repository: string; tag: string }) => {
      const digest = published?.[`${repository}:${tag}`];
      return published === null ? null : digest === undefined ? 'none' : { digest };
    },
    inspectImages: async (ids: string[]) => ids.map(() => ({ digests: [`acme/app@${running}`] })),
  } as unknown as Engine;
  const serviceOf = (name: string) => ({ name, containers: [{ imageId: 'x' }] });
  const installation = {
    runningVersion: version,
    prefix,
    app: serviceOf('app'),
    workers: [serviceOf('worker')],
  } as unknown as Installation;
  const log = { warn: (sentence: string) => warnings.push(sentence) } as unknown as Log;
  return { engine, log, installation, warnings };
}

describe('chooseVersionTag', () => {
  const choose = (found: ReturnType<typeof world>, ...pins: Pin[]) =>
    chooseVersionTag(found, found.installation, pins);

  it('keeps versions', async () => {
    expect(await choose(world({}), pinOf('v1.4.2'))).toBeNull();
  });

  it.each([
    ['v', 'acme/app:v1.4.2', 'v1.4.2'],
    ['v', 'acme/app:1.4.2', '1.4.2'],
    ['', 'acme/app:v1.4.2', 'v1.4.2'],
  ])(
    'finds the tag of the running image, although its label has the prefix "%s": %s',
    async (prefix, reference, tag) => {
      expect(await choose(world({ [reference]: running }, '1.4.2', prefix), pinOf('latest'))).toBe(tag);
    },
  );

  it.each<[string, Record<string, string> | null, string | null]>([
    ['another image has the version', { 'acme/app:v1.4.2': newer }, '1.4.2'],
    ['the registry does not have the version', {}, '1.4.2'],
    ['the registry does not respond', null, '1.4.2'],
    ['the image does not specify its version', { 'acme/app:v1.4.2': running }, null],
    ['a worker has another image', { 'acme/app:v1.4.2': running, 'acme/worker:v1.4.2': newer }, '1.4.2'],
  ])('keeps the tag with the reason if %s', async (_, published, version) => {
    const found = world(published, version);
    expect(await choose(found, pinOf('latest'), pinOf('latest', 'worker'))).toBeNull();
    expect(found.warnings).toEqual([expect.stringMatching(/^the tag latest is not changed, because /)]);
  });
});

describe('requirePublishedService', () => {
  const repository = 'acme/updates';
  const check = ({ engine, installation }: ReturnType<typeof world>, pin: Pin, tag: string) =>
    requirePublishedService(engine, installation, { repository, pin, tag });

  it('accepts a service that is published with the running version', async () => {
    await check(world({ 'acme/updates:v1.4.2': newer }), pinOf('v1.4.2'), 'v1.4.2');
    await check(world({ 'acme/updates:v1.4.2': newer }), pinOf('latest'), 'v1.4.2');
    const both = { 'acme/updates:latest': newer, 'acme/app:latest': running };
    await check(world(both), pinOf('latest'), 'latest');
  });

  it.each<[string, Record<string, string> | null, string, string]>([
    ['is not published', {}, 'v1.4.2', 'cannot be updated from its page'],
    ['may not be published', null, 'v1.4.2', 'it is unknown whether the registry has'],
    [
      'would be newer',
      { 'acme/updates:latest': newer, 'acme/app:latest': newer },
      'latest',
      'runs an older image',
    ],
  ])('refuses a service that %s', async (_, published, tag, why) => {
    await expect(check(world(published), pinOf(tag), tag)).rejects.toThrow(why);
  });
});
