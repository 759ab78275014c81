import { createHash } from 'node:crypto';
import { readdirSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { InstanceOptions } from '../../../src/instance/contract/options.ts';
import { releaseFile } from '../../feed/proofs.ts';
import { publisher } from '../../provenance/sign.ts';
import { signedArchive } from '../../provenance/signed-archive.ts';
import { badRun, goodRun, workOf } from '../../rig/engine-double/script.ts';
import { Rig, type Server, until } from './rig.ts';

// docs/contract.md 8.40

const anna = publisher();
const mallory = publisher();
const good = signedArchive(anna, releaseFile('v1.5.0'));
type Sent = Pick<typeof good, 'bytes' | 'size' | 'sha256'>;

let rig: Rig;
let directory: string;
beforeEach(async () => {
  rig = await Rig.start();
  directory = await mkdtemp(join(tmpdir(), 'archives-'));
});
afterEach(async () => {
  await rig.close();
  await rm(directory, { recursive: true, force: true });
  expect([...rig.state.violations, ...rig.rejections]).toEqual([]);
});

async function booted(more: Partial<InstanceOptions> = {}, name = 'svc-app-1'): Promise<Server> {
  const archives = { directory, trust: { keys: [anna.key] } };
  const mounts = { [directory]: '/srv/svc/archives' };
  const one = await rig.server({ name, mounts }, { archives, ...more });
  await one.updates.boot();
  return one;
}

const door = ({ updates }: Server) => {
  if (updates.archives === null) throw new Error('no archives are taken');
  return updates.archives;
};
async function* chunksOf(bytes: Buffer) {
  for (let at = 0; at < bytes.length; at += 10_000) yield bytes.subarray(at, at + 10_000);
}
const piece = (server: Server, { bytes, sha256 }: Sent, from: number, to = bytes.length) =>
  door(server).receive({ sha256, offset: from }, chunksOf(bytes.subarray(from, to)));
async function send(server: Server, sent: Sent) {
  const begun = await door(server).begin({ size: sent.size, sha256: sent.sha256 });
  return 'reason' in begun ? begun : piece(server, sent, begun.archive.received);
}
const ready = (version: string) => ({ archive: expect.objectContaining({ version, ready: true }) });
const refused = (code: string, message: string) => ({
  reason: expect.objectContaining({ code, message: expect.stringContaining(message) }),
});
const there = () => readdirSync(directory);
const ended = async ({ updates }: Server) => (await updates.record())?.run.outcome;
const whole = ({ sha256, size }: Sent) => `archive-${sha256}-${size}.tar`;

describe('an archive', () => {
  it('comes in pieces, is proven by the first of them, and an update starts from it', async () => {
    const one = await booted();
    const { size, sha256 } = good;
    expect(await door(one).begin({ size, sha256 })).toEqual({
      archive: { version: null, size, received: 0, ready: false },
    });
    expect(await piece(one, good, 0, 400)).toMatchObject({ archive: { version: null, received: 400 } });
    expect(await piece(one, good, 400, 10_000)).toMatchObject({
      archive: { version: 'v1.5.0', received: 10_000, ready: false },
    });
    expect(await piece(one, good, 10_000)).toEqual(ready('v1.5.0'));
    expect(await one.ask({ target: null, from: sha256 })).toMatchObject({ run: { to: 'v1.5.0' } });
    await until(() => ended(one));
    const { Cmd = [], HostConfig } = rig.engine.updater.spec;
    expect(Cmd.slice(0, 3)).toEqual(['update', '--target', 'v1.5.0']);
    expect(Cmd.join(' ')).toMatch(
      /(?: --expect app=sha256:[0-9a-f]{64}){3} --expect-file compose.yaml=sha256:[0-9a-f]{64} --from \/run\/svc-updater\/archive.tar /,
    );
    expect(HostConfig?.Mounts).toContainEqual({
      Type: 'bind',
      Source: `/srv/svc/archives/${whole(good)}`,
      Target: '/run/svc-updater/archive.tar',
      ReadOnly: true,
    });
  });

  it('goes on where the line broke, also at a server that began anew', async () => {
    const one = await booted();
    await door(one).begin(good);
    async function* broken() {
      yield good.bytes.subarray(0, 5_000);
      throw new Error('reset');
    }
    const { sha256 } = good;
    await expect(door(one).receive({ sha256, offset: 0 }, broken())).rejects.toThrow('reset');
    await one.updates.close();
    const next = await booted({}, 'svc-app-2');
    expect(await door(next).begin(good)).toMatchObject({
      archive: { version: 'v1.5.0', received: 5_000, ready: false },
    });
    expect(await piece(next, good, 5_000)).toEqual(ready('v1.5.0'));
    await next.updates.close();
    const last = await booted({}, 'svc-app-3');
    expect(await door(last).begin(good)).toEqual(ready('v1.5.0'));
    expect(await last.ask({ target: null, from: sha256 })).toMatchObject({ run: { to: 'v1.5.0' } });
    await until(() => ended(last));
  });

  it('is found whole by a server that was killed before it could look at it', async () => {
    writeFileSync(join(directory, `archive-${good.sha256}-${good.size}.part`), good.bytes);
    expect(await door(await booted()).begin(good)).toEqual(ready('v1.5.0'));
  });

  it('takes nothing at another place than where it ends, and says where that is', async () => {
    const one = await booted();
    await door(one).begin(good);
    await piece(one, good, 0, 1_000);
    for (const offset of [0, 999, 1_001, good.size, 9_999_999_999])
      expect(await door(one).receive({ sha256: good.sha256, offset }, chunksOf(good.bytes))).toMatchObject({
        archive: { received: 1_000 },
      });
  });

  it('may come from two senders at once', async () => {
    const one = await booted();
    await door(one).begin(good);
    const both = await Promise.all([piece(one, good, 0), piece(one, good, 0)]);
    expect(both).toEqual([ready('v1.5.0'), ready('v1.5.0')]);
  });

  it('is not known where nothing of it was begun', async () => {
    const one = await booted();
    expect(await piece(one, good, 0)).toBeNull();
    expect(await one.ask({ target: null, from: good.sha256 })).toEqual(
      refused('archive-refused', 'that archive is not here, or not all of it'),
    );
    await door(one).begin(good);
    await piece(one, good, 0, 5_000);
    expect(await piece(one, { ...good, sha256: '0'.repeat(64) }, 5_000)).toBeNull();
    expect(await one.ask({ target: null, from: good.sha256 })).toEqual(
      refused('archive-refused', 'not all of it'),
    );
  });
});

describe('what is not taken is told as soon as it can be, and nothing of it is left', () => {
  const early = 10_000;
  const two = (at: number, bytes: Buffer) => {
    const other = Buffer.from(bytes);
    other[at] = (other[at] ?? 0) ^ 1;
    return other;
  };
  it.each<[string, Sent, string, string]>([
    ['by another signer', signedArchive(mallory, releaseFile('v1.5.0')), 'unproven', 'none of the keys'],
    [
      'of another product',
      signedArchive(anna, releaseFile('v1.5.0', { product: 'larder' })),
      'unproven',
      'of larder',
    ],
    ['without an image', signedArchive(anna, releaseFile('v1.5.0', { images: {} })), 'unproven', 'no image'],
    ['that runs already', signedArchive(anna, releaseFile('v1.4.2')), 'up-to-date', 'v1.4.2 runs already'],
    ['that is older', signedArchive(anna, releaseFile('v1.4.1')), 'up-to-date', 'there is no downgrade'],
    [
      'of no version',
      signedArchive(anna, releaseFile('newest')),
      'archive-refused',
      'no version that can be gone to',
    ],
    [
      'that another has to come before',
      signedArchive(anna, releaseFile('v1.6.0', { requires: 'v1.5.0' })),
      'archive-refused',
      'v1.6.0 can be updated to from v1.5.0 on, and v1.4.2 runs',
    ],
    [
      'that is for no such machine',
      signedArchive(anna, releaseFile('v1.5.0', { images: onlyArm() })),
      'archive-refused',
      'v1.5.0 has no image app for linux/amd64',
    ],
    [
      'that is something else',
      { ...good, bytes: Buffer.alloc(good.size, 'x') },
      'archive-refused',
      'it is no archive of a release',
    ],
    [
      'whose signature was changed',
      { ...good, bytes: two(good.bytes.indexOf('"signature":"') + 30, good.bytes) },
      'unproven',
      'is not proven',
    ],
  ])('one %s', async (_, sent, code, message) => {
    const one = await booted();
    await door(one).begin(sent);
    expect(await piece(one, sent, 0, early)).toEqual(refused(code, message));
    expect(there()).toEqual([]);
    expect(await piece(one, sent, early)).toBeNull();
  });

  it.each<[string, Sent, string, string]>([
    [
      'changed in its last bytes',
      { ...good, bytes: two(good.size - 9_000, good.bytes) },
      'archive-refused',
      'a byte was changed',
    ],
    [
      'for another machine',
      signedArchive(anna, releaseFile('v1.5.0'), { blobs: ['index', 'arm', 'arm config'] }),
      'archive-refused',
      'the archive of v1.5.0 has no image app for linux/amd64',
    ],
    ['that was cut', cutAt(good, good.size - 512), 'archive-refused', 'it was cut off'],
    ['that was cut in its first bytes', cutAt(good, 600), 'archive-refused', 'it was cut off'],
    ['with something behind it', cutAt(good, good.size + 512), 'archive-refused', 'something behind its end'],
  ])('one %s', async (_, sent, code, message) => {
    const one = await booted();
    expect(await send(one, sent)).toEqual(refused(code, message));
    expect(there()).toEqual([]);
  });

  it('more than was announced', async () => {
    const one = await booted();
    await door(one).begin(good);
    expect(
      await door(one).receive(
        { sha256: good.sha256, offset: 0 },
        chunksOf(Buffer.concat([good.bytes, good.bytes])),
      ),
    ).toEqual(refused('archive-refused', 'more was sent'));
    expect(there()).toEqual([]);
  });

  it('a release whose first bytes were those of another archive of that sum', async () => {
    const one = await booted();
    const evil = signedArchive(mallory, releaseFile('v1.5.0'));
    // Announced with the sum of what follows later, and proven by bytes that are not of it.
    await door(one).begin(evil);
    const { sha256 } = evil;
    expect(
      await door(one).receive({ sha256, offset: 0 }, chunksOf(good.bytes.subarray(0, early))),
    ).toMatchObject({
      archive: { version: 'v1.5.0' },
    });
    await door(one).remove();
    expect(await send(one, evil)).toEqual(refused('unproven', 'none of the keys'));
    expect(there()).toEqual([]);
  });
});

describe('another archive', () => {
  const other = signedArchive(anna, releaseFile('v1.6.0'));

  it('waits until a minute after the last piece of the one that is being sent', async () => {
    const one = await booted();
    await door(one).begin(good);
    await piece(one, good, 0, 30_000);
    expect(await door(one).begin(other)).toEqual(
      refused('archive-refused', 'another archive is being sent, of which'),
    );
    expect(await piece(one, good, 30_000)).toEqual(ready('v1.5.0'));
    await utimes(join(directory, whole(good)), Date.now() / 1000, Date.now() / 1000 - 61);
    expect(await send(one, other)).toEqual(ready('v1.6.0'));
    expect(there()).toEqual([whole(other)]);
  });

  it('comes at once where somebody has removed the one that is here', async () => {
    const one = await booted();
    await send(one, good);
    expect(await door(one).remove()).toBeNull();
    expect(there()).toEqual([]);
    expect(await send(one, other)).toEqual(ready('v1.6.0'));
  });
});

describe('while an update is on', () => {
  it('the archive stays, and it goes after a good end', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    rig.engine.updaterDoes([
      ...workOf('v1.4.2', 'v1.5.0'),
      { until: promise },
      ...goodRun('v1.4.2', 'v1.5.0').slice(-2),
    ]);
    const one = await booted();
    await send(one, good);
    await one.ask({ target: null, from: good.sha256 });
    await until(async () => (await one.updates.record())?.run.state === 'verify');
    for (const answer of [await door(one).begin(good), await door(one).remove()])
      expect(answer).toEqual(refused('update-running', 'an update to v1.5.0 is running'));
    // The server that follows is another one.
    await one.updates.close();
    expect(there()).toEqual([whole(good)]);
    const next = await booted({ version: 'v1.5.0' }, 'svc-app-2');
    // Somebody who sends it still is told that it is there, and nothing of it is judged by what runs now.
    expect(await piece(next, good, 0)).toEqual({
      archive: { version: null, size: good.size, received: good.size, ready: true },
    });
    expect(there()).toEqual([whole(good)]);
    resolve();
    await until(() => ended(next));
    await until(() => there().length === 0);
  });

  it('of which no server saw the end, the next one removes it', async () => {
    const one = await booted();
    await send(one, good);
    await one.ask({ target: null, from: good.sha256 });
    await until(() => rig.past.length === 1 && there().length === 0);
    await one.updates.close();
    writeFileSync(join(directory, whole(good)), good.bytes);
    await utimes(join(directory, whole(good)), 1, 1);
    await booted({ version: 'v1.5.0' }, 'svc-app-2');
    await until(() => there().length === 0);
  });

  it('that has ended, what was sent after it stays', async () => {
    const one = await booted();
    await send(one, good);
    await one.ask({ target: null, from: good.sha256 });
    await until(() => rig.past.length === 1 && there().length === 0);
    await one.updates.close();
    const later = signedArchive(anna, releaseFile('v1.6.0'));
    const next = await booted({ version: 'v1.5.0' }, 'svc-app-2');
    expect(await send(next, later)).toEqual(ready('v1.6.0'));
    await next.updates.close();
    const last = await booted({ version: 'v1.5.0' }, 'svc-app-3');
    expect(await door(last).begin(later)).toEqual(ready('v1.6.0'));
  });

  it('that ends otherwise, the archive is there for the next try', async () => {
    const refusal = badRun(workOf('v1.4.2', 'v1.5.0').slice(0, 3), 'refused', 'edited').slice(0, -1);
    rig.engine.updaterDoes([...refusal, { exit: 0 }]);
    const one = await booted();
    await send(one, good);
    await one.ask({ target: null, from: good.sha256 });
    await until(() => rig.past.length === 1 && rig.open === null && !rig.state.isHeld);
    expect(there()).toEqual([whole(good)]);
    rig.engine.updaterDoes(goodRun('v1.4.2', 'v1.5.0'));
    expect(await door(one).begin(good)).toEqual(ready('v1.5.0'));
    await one.ask({ target: null, from: good.sha256 });
    await until(() => there().length === 0);
  });
});

describe('a place for archives', () => {
  it('is none where the platform names none', async () => {
    const one = await booted({ archives: undefined } as never);
    expect(one.updates.archives).toBeNull();
    expect(await one.ask({ target: null, from: good.sha256 })).toEqual(
      refused('no-archives', 'takes no archives'),
    );
  });

  it('is on a mount, as the updater is given it from the host', async () => {
    const archives = { directory: '/elsewhere/archives', trust: { keys: [anna.key] } };
    expect(await door(await booted({ archives })).begin(good)).toEqual(
      refused('no-archives', "/elsewhere/archives, is on no mount of the server's container"),
    );
  });

  it('can be written to', async () => {
    const file = join(directory, 'file');
    writeFileSync(file, '');
    const archives = { directory: file, trust: { keys: [anna.key] } };
    expect(await door(await booted({ archives })).begin(good)).toEqual(
      refused('no-archives', 'cannot be used: ENOTDIR'),
    );
  });

  it('is asked nothing where no update may start here', async () => {
    const one = await booted();
    await rig.engine.down();
    expect(await door(one).begin(good)).toEqual(refused('no-engine', 'no engine answers'));
    expect(there()).toEqual([]);
  });
});

function onlyArm() {
  const { app } = releaseFile('v1.5.0').images;
  return { app: { ...app, platforms: { 'linux/arm/v7': app.platforms['linux/arm/v7'] } } };
}

/** The same as it was announced by somebody who has no more of it. */
function cutAt({ bytes }: Sent, size: number): Sent {
  const cut = Buffer.alloc(size, 'x');
  bytes.copy(cut);
  return { bytes: cut, size, sha256: createHash('sha256').update(cut).digest('hex') };
}
