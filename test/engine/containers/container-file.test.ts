import { describe, expect, it } from 'vitest';
import { hasDirectoryEntries, readContainerFile } from '../../../src/engine/containers/container-file.ts';
import { type TarEntry, tar } from '../../rig/tar.ts';
import { engineThat } from '../http-engine.ts';

const limit = 1000;

async function read(body: Buffer | null): Promise<unknown> {
  const engine = await engineThat((_, to) => {
    if (body === null) to.writeHead(404).end('{"message":"Could not find the file"}');
    else to.end(body);
  });
  const file = await readContainerFile(engine, 'a1', '/etc/x', limit);
  return typeof file === 'string' ? file : file.content.toString();
}

const file = (content: string): TarEntry => ({ name: 'x', kind: 'file', content });

describe('readContainerFile', () => {
  it.each<[what: string, archive: Buffer | null, expected: string]>([
    ['a file', tar([file('text\n')]), 'text\n'],
    ['an empty file', tar([file('')]), ''],
    ['as much as is allowed', tar([file('x'.repeat(limit))]), 'x'.repeat(limit)],
    ['a byte more', tar([file('x'.repeat(limit + 1))]), 'too-big'],
    ['far more', tar([file('x'.repeat(100 * limit))]), 'too-big'],
    ['a link', tar([{ name: 'x', kind: 'link', target: 'y' }]), 'not-a-file'],
    ['a directory with a file', tar([{ name: 'x', kind: 'directory' }, file('text')]), 'not-a-file'],
    ['nothing', tar([]), 'not-a-file'],
    ['an archive that breaks off', tar([file('text\n')]).subarray(0, 514), 'too-big'],
    ['no such path', null, 'missing'],
  ])('reads %s', async (_, archive, expected) => {
    expect(await read(archive)).toBe(expected);
  });
});

describe('hasEntries', () => {
  const directory: TarEntry = { name: 'x', kind: 'directory' };

  it.each<[what: string, archive: Buffer | null, expected: boolean]>([
    ['an empty directory', tar([directory]), false],
    ['a directory with a file', tar([directory, file('')]), true],
    ['a directory with a directory', tar([directory, directory]), true],
    [
      'a large directory, of which only the beginning is read',
      tar([directory, file('x'.repeat(100_000))]),
      true,
    ],
    ['a directory whose own header fills what is read', Buffer.alloc(100_000, 'x'), true],
    ['no such path', null, false],
  ])('checks %s', async (_, archive, expected) => {
    const engine = await engineThat((_, to) => {
      if (archive === null) to.writeHead(404).end('{"message":"Could not find the file"}');
      else to.end(archive);
    });
    expect(await hasDirectoryEntries(engine, 'a1', '/data')).toBe(expected);
  });
});
