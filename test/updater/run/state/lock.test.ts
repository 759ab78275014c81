import { chown, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Container } from '../../../../src/engine/objects/container.ts';
import { Log } from '../../../../src/updater/run/log/run-log.ts';
import {
  findLockHolder,
  type LinkFunction,
  type Lock,
  removeOwnLock,
  takeLock,
} from '../../../../src/updater/run/state/lock.ts';
import { container, engine } from '../../../build.ts';
import { startPlainEngine } from '../../../engine/http-engine.ts';
import { temporaryDirectory } from '../../../rig/temporary-directory.ts';

const own: Container = container('updater-1', { id: 'a'.repeat(64), name: 'svc-updater' });
const other: Container = container('updater-2', { id: 'b'.repeat(64), name: 'svc-updater-2' });
const since = '2026-11-21T10:42:07.000Z';
const heldBy = ({ id, name }: { id: string; name: string }): string =>
  `${JSON.stringify({ containerId: id, name, since })}\n`;
const text = heldBy(other);

let directory = '';
let lines: string[] = [];
const at = (name: string): string => join(directory, '.svc-updater', name);
const files = async (): Promise<string[]> =>
  (await readdir(at(''))).filter((name) => name !== '.gitignore').sort();
const put = (name: string, content: string) => writeFile(at(name), content);

beforeEach(async () => {
  directory = await temporaryDirectory();
  await mkdir(at(''));
  lines = [];
});

/** Response of the engine about a container: its status, null if it does not exist, or an error status. */
type Answer = string | null | { status: number };
type Answers = (id: string) => Answer | Promise<Answer>;

const asks = (answers: Answers): Promise<string> =>
  startPlainEngine(async (from, to) => {
    const id = /^\/containers\/(\w+)\/json$/.exec(from.url ?? '')?.[1] ?? '';
    const answer = await answers(id);
    if (answer === null) to.writeHead(404).end('{"message":"No such container"}');
    else if (typeof answer === 'string')
      to.end(JSON.stringify({ Id: id, Name: '/svc-updater-2', State: { Status: answer } }));
    else to.writeHead(answer.status).end('{"message":"no answer today"}');
  });

/** Takes the lock of the directory, by default for the container `own`. */
async function take(
  answers: Answers = () => null,
  by: Container = own,
  makeLink?: LinkFunction,
): Promise<Lock> {
  const log = new Log(({ message }) => lines.push(message));
  const doors = { engine: engine(await asks(answers)), log, ...(makeLink && { link: makeLink }) };
  return takeLock(doors, by, directory);
}

/** The link call of a file system without hard links. */
const linkless: LinkFunction = async () => {
  throw Object.assign(new Error('EPERM: operation not permitted, link'), { code: 'EPERM', syscall: 'link' });
};
const links: [string, LinkFunction | undefined][] = [
  ['with hard links', undefined],
  ['without hard links', linkless],
];

describe('takeLock', () => {
  it('creates the lock if there is none, and leaves no other file', async () => {
    const lock = await take();
    expect(lock).toMatchObject({ state: at('').replace(/\/$/, ''), takenOver: false });
    expect(await files()).toEqual(['lock']);
    expect((await stat(at('lock'))).mode & 0o777).toBe(0o600);
    const holder = JSON.parse(await readFile(at('lock'), 'utf8'));
    expect(holder).toEqual({
      containerId: own.id,
      name: 'svc-updater',
      since: expect.stringMatching(/^20.*Z$/),
    });
    expect(lines).toEqual([]);
  });

  it.each(['running', 'restarting', 'paused'])('fails while the holder is %s', async (status) => {
    await put('lock', text);
    const asked: string[] = [];
    const answers = (id: string) => {
      asked.push(id);
      return status;
    };
    await expect(take(answers)).rejects.toMatchObject({
      code: 'update-running',
      message: `another update has been running in container svc-updater-2 since ${since}`,
      advice: 'Wait until the other update finishes. To follow it, run docker logs -f svc-updater-2.',
    });
    expect(asked).toEqual([other.id]);
    expect(await files()).toEqual(['lock']);
    expect(await readFile(at('lock'), 'utf8')).toBe(text);
  });

  it.each<[what: string, answer: Answer]>([
    ['has exited', 'exited'],
    ['was never started', 'created'],
    ['is gone', null],
  ])('takes over the lock from a holder that %s', async (_, answer) => {
    await put('lock', text);
    expect((await take(() => answer)).takenOver).toBe(true);
    expect(lines).toEqual([
      `took over the lock that svc-updater-2 had held since ${since}, because that container is no longer running`,
    ]);
    expect(await findLockHolder(directory)).toMatchObject({ containerId: own.id });
    expect(await files()).toEqual(['lock']);
  });

  it.each<[what: string, content: string]>([
    ['its own, of the start before', heldBy(own)],
    ['a torn one', '{"containerId":'],
    ['one of something else', '{"pid":12}\n'],
  ])('takes over a lock without a request to the engine: %s', async (_, content) => {
    await put('lock', content);
    const lock = await take(() => {
      throw new Error('asked');
    });
    expect(lock.takenOver).toBe(true);
    expect(lines).toEqual([]);
    expect(await findLockHolder(directory)).toMatchObject({ containerId: own.id });
    expect(await files()).toEqual(['lock']);
  });

  it.each([
    ['of one that is gone', text],
    ['that nobody has written to', ''],
  ])('takes over a lock %s, without hard links', async (_, content) => {
    await put('lock', content);
    expect((await take(() => null, own, linkless)).takenOver).toBe(true);
    expect(await files()).toEqual(['lock']);
  });

  it.runIf(process.getuid?.() === 0).each(links)(
    'creates a lock that belongs to the owner of the compose directory, %s',
    async (_, makeLink) => {
      await chown(directory, 1234, 1235);
      await take(() => null, own, makeLink);
      for (const name of ['.', 'lock', '.gitignore'])
        expect(await stat(at(name)), name).toMatchObject({ uid: 1234, gid: 1235 });
      expect((await stat(at('lock'))).mode & 0o777).toBe(0o600);
      expect(lines).toEqual([]);
    },
  );

  it('does not take over the lock if the engine rejects the request', async () => {
    await put('lock', text);
    await expect(take(() => ({ status: 403 }))).rejects.toMatchObject({ code: 'engine-unavailable' });
    expect(await readFile(at('lock'), 'utf8')).toBe(text);
    expect(await files()).toEqual(['lock']);
  });

  it('fails on a full disk', async () => {
    const full = Object.assign(new Error('ENOSPC: no space left on device, link'), {
      code: 'ENOSPC',
      syscall: 'link',
    });
    const link = () => Promise.reject(full);
    const log = new Log(() => {});
    await expect(takeLock({ engine: engine(), log, link }, own, directory)).rejects.toMatchObject({
      code: 'write-failed',
      message: expect.stringMatching(/^the lock cannot be written: ENOSPC/),
    });
    expect(await files()).toEqual([]);
  });
});

describe('takeLock, called by two updaters at the same time', () => {
  it.each(links)('succeeds for one updater and fails for the other, %s', async (_, makeLink) => {
    const both = await Promise.allSettled([own, other].map((by) => take(() => 'running', by, makeLink)));
    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    const refused = both.find((each) => each.status === 'rejected');
    expect(refused?.reason).toMatchObject({ code: 'update-running' });
  });

  it('waits for an updater that has created the lock without hard links but not yet written to it', async () => {
    await put('lock', '');
    const written = sleep(300).then(() => put('lock', text));
    await expect(take(() => 'running', own, linkless)).rejects.toMatchObject({ code: 'update-running' });
    await written;
  });

  it('fails if the other updater has taken over the stale lock in the meantime', async () => {
    await put('lock', heldBy({ id: 'd'.repeat(64), name: 'dead' }));
    const answers = async (id: string) => {
      if (id === other.id) return 'running';
      await rm(at('lock'));
      await put('lock', text);
      return null;
    };
    await expect(take(answers)).rejects.toMatchObject({ code: 'update-running' });
    expect(await readFile(at('lock'), 'utf8')).toBe(text);
    expect(await files()).toEqual(['lock']);
  });

  it('takes over the lock if its holder has released it in the meantime', async () => {
    await put('lock', text);
    const lock = await take(async () => {
      await rm(at('lock'), { force: true });
      return 'exited';
    });
    expect(lock.takenOver).toBe(true);
    expect(await findLockHolder(directory)).toMatchObject({ containerId: own.id });
  });
});

describe('takeLock, with files left by other updaters', () => {
  it.each<[name: string, answer: Answer, isKept: boolean]>([
    ['lock.bbbbbbbbbbbb', null, false],
    ['lock.bbbbbbbbbbbb', 'running', true],
    ['lock.stale.bbbbbbbbbbbb', 'running', true],
  ])('keeps %s, whose container is %j: %j', async (name, answer, isKept) => {
    await put(name, text);
    const asked: string[] = [];
    await take((id) => {
      asked.push(id);
      return answer;
    });
    expect(asked).toEqual(['bbbbbbbbbbbb']);
    expect(await files()).toEqual(isKept ? ['lock', name] : ['lock']);
  });

  it.each(['lock.stale.aaaaaaaaaaaa', 'lock.bbbbbbbbbbbb.new', 'journal.json'])(
    'keeps %s without a request to the engine',
    async (name) => {
      await put(name, text);
      await take(() => ({ status: 403 }));
      expect(await files()).toEqual(['lock', name].sort());
    },
  );

  it('releases the lock if the engine rejects the request', async () => {
    await put('lock.bbbbbbbbbbbb', text);
    await expect(take(() => ({ status: 403 }))).rejects.toMatchObject({ code: 'engine-unavailable' });
    expect(await files()).toEqual(['lock.bbbbbbbbbbbb']);
  });
});

describe('Lock', () => {
  it('can be taken again after its release', async () => {
    await (await take()).release();
    expect(await files()).toEqual([]);
    expect((await take(() => 'running', other)).takenOver).toBe(false);
  });

  it('does not release the lock of another updater', async () => {
    const lock = await take();
    await put('lock', text);
    await lock.release();
    expect(await readFile(at('lock'), 'utf8')).toBe(text);
  });

  it('is restored with private access if another process has removed the directory', async () => {
    const lock = await take();
    const before = await readFile(at('lock'), 'utf8');
    await rm(at(''), { recursive: true });
    await lock.restore();
    expect(await readFile(at('lock'), 'utf8')).toBe(before);
    expect((await stat(at('lock'))).mode & 0o777).toBe(0o600);
    expect(await readFile(at('.gitignore'), 'utf8')).toBe('*\n');
    await lock.release();
    expect(await files()).toEqual([]);
  });

  it('does not replace the lock of another updater when restored', async () => {
    const lock = await take();
    await put('lock', text);
    await lock.restore();
    expect(await readFile(at('lock'), 'utf8')).toBe(text);
  });
});

describe('dropLock', () => {
  it.each<[whose: string, content: string, isKept: boolean]>([
    ['its own', heldBy(own), false],
    ["another's", text, true],
    ['a torn one', '{', true],
  ])('keeps a lock file that is not its own (%s): %j', async (_, content, isKept) => {
    await put('lock', content);
    await removeOwnLock(directory, own);
    expect(await files()).toEqual(isKept ? ['lock'] : []);
  });
});
