import { chown, link, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Log } from '../../../src/agent/log/log.ts';
import { type Link, takeLock } from '../../../src/agent/state/lock.ts';
import { Engine } from '../../../src/engine/cli/engine.ts';
import { container } from '../../build.ts';
import { startEngine } from '../../engine/api/http-engine.ts';

const isRoot = process.getuid?.() === 0;
const [first, second] = ['a', 'b'].map((letter) =>
  container(`app-${letter}`, { id: letter.repeat(64), name: letter }),
);
const linkless: Link = async () => {
  throw Object.assign(new Error('EPERM: operation not permitted, link'), { code: 'EPERM', syscall: 'link' });
};

let directory = '';
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'lock-'));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

/** An engine on which the containers of these ids run, and no others. */
async function doors(running: readonly string[], link = linkless) {
  const host = await startEngine((request, response) => {
    const id = /containers\/([^/]+)\/json/.exec(request.url ?? '')?.[1] ?? '';
    const isThere = running.some((own) => own.startsWith(id));
    response.writeHead(isThere ? 200 : 404, { 'content-type': 'application/json' });
    response.end(
      JSON.stringify(isThere ? { Id: id, Name: '/it', State: { Status: 'running' } } : { message: 'no' }),
    );
  });
  const lines: string[] = [];
  const engine = new Engine({ host, tls: [], configDirectory: directory }, { home: '/' });
  return { engine, log: new Log(({ message }) => lines.push(message)), lines, link };
}

// With them it is lock.test.ts that tries the same.
describe('the lock, without hard links', () => {
  it('is one for any number that come at once', async () => {
    const all = [...'abcdef'].map((letter) =>
      container(`app-${letter}`, { id: letter.repeat(64), name: letter }),
    );
    const at = await doors(all.map(({ id }) => id));
    const taken = await Promise.allSettled(all.map((own) => takeLock(at, own, directory)));
    expect(taken.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });

  it.each([
    ['of one that is gone', `${JSON.stringify({ containerId: 'c'.repeat(64), name: 'c', since: 'then' })}\n`],
    ['that nobody has written to', ''],
  ])('is taken over: one %s', async (_, text) => {
    if (!first) throw new Error('no container');
    const at = await doors([first.id]);
    await (await takeLock(at, first, directory)).release();
    await writeFile(join(directory, '.svc-updater/lock'), text);
    const lock = await takeLock(at, first, directory);
    expect(lock.takenOver).toBe(true);
    expect((await readdir(lock.state)).sort()).toEqual(['.gitignore', 'lock']);
  });

  it('is not taken from one who has created it and is just about to write', async () => {
    if (!first || !second) throw new Error('no containers');
    const at = await doors([first.id, second.id]);
    await (await takeLock(at, first, directory)).release();
    const path = join(directory, '.svc-updater/lock');
    await writeFile(path, '');
    const text = `${JSON.stringify({ containerId: second.id, name: 'b', since: 'now' })}\n`;
    const written = sleep(300).then(() => writeFile(path, text));
    await expect(takeLock(at, first, directory)).rejects.toMatchObject({ code: 'update-running' });
    await written;
  });

  it.runIf(isRoot).each([
    ['as well', linkless],
    ['with them, too', link],
  ])('belongs to the owner of the compose directory, %s', async (_, makeLink) => {
    if (!first) throw new Error('no container');
    await chown(directory, 1234, 1235);
    const at = await doors([first.id], makeLink);
    const lock = await takeLock(at, first, directory);
    for (const name of ['.', 'lock', '.gitignore']) {
      expect(await stat(join(lock.state, name)), name).toMatchObject({ uid: 1234, gid: 1235 });
    }
    expect((await stat(join(lock.state, 'lock'))).mode & 0o777).toBe(0o600);
    expect(at.lines).toEqual([]);
  });
});
