import { mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { beforeEach, describe, expect, it } from 'vitest';
import { readTextFile, readTextFileIfExists } from '../../../src/core/files/text-file.ts';
import { temporaryDirectory } from '../../rig/temporary-directory.ts';

const mebibyte = 1024 * 1024;
const restoreIt = 'Restore the file, or run {up} to recreate the app from its current files.';
const regular = 'Use a regular file in the compose directory instead, then run {command} again.';
const notThat = 'This does not look like a compose or env file. Check its content.';
const latin1 = (text: string) => Buffer.from(text, 'latin1');

let directory = '';
let path = '';

beforeEach(async () => {
  directory = await temporaryDirectory();
  path = join(directory, 'compose.yaml');
});

describe('readTextFile', () => {
  it.each([
    ['a byte order mark and CRLF', '\ufeffservices: {}\r\n# ü 😀\r\n'],
    ['no byte at all', ''],
    ['as much as may be', '#'.repeat(5 * mebibyte)],
  ])('returns the text unchanged: %s', async (_, text) => {
    await writeFile(path, text);
    const read = await readTextFile(path);
    expect({ ...read, text: read.text === text }).toEqual({ path, text: true });
  });

  it.each<[string, () => Promise<unknown>, string, string, string]>([
    ['a file that is gone', async () => {}, 'compose-invalid', 'does not exist', restoreIt],
    ['a link in a circle', () => symlink(path, path), 'compose-invalid', 'cannot be read (ELOOP)', restoreIt],
    [
      'no UTF-8',
      () => writeFile(path, latin1('# caf\xe9\nservices: {}\n')),
      'compose-invalid',
      'is not UTF-8 text',
      'Save the file as UTF-8.',
    ],
    [
      'one byte too many',
      () => writeFile(path, Buffer.alloc(5 * mebibyte + 1, '#')),
      'compose-invalid',
      'is larger than 5 MiB',
      notThat,
    ],
    ['a directory', () => mkdir(path), 'not-a-file', 'is not a regular file', regular],
    ['a pipe', () => execa('mkfifo', [path]), 'not-a-file', 'is not a regular file', regular],
    [
      'a link to what is not mounted',
      () => symlink('/no/such/folder/compose.yaml', path),
      'outside-mounts',
      'is a link to /no/such/folder/compose.yaml, which is not mounted into this container',
      'Add -v /no/such/folder:/no/such/folder to the docker run command.',
    ],
  ])('rejects %s', async (_, make, code, message, advice) => {
    await make();
    const refusal = { code, outcome: 'refused', message: `${path} ${message}`, advice };
    await expect(readTextFile(path)).rejects.toMatchObject(refusal);
  });
});

describe('readTextFileIfExists', () => {
  it('returns null only for a missing file', async () => {
    expect(await readTextFileIfExists(path)).toBeNull();
    await symlink('/no/such/folder/compose.yaml', path);
    await expect(readTextFileIfExists(path)).rejects.toMatchObject({ code: 'outside-mounts' });
    await rm(path);
    await mkdir(path);
    await expect(readTextFileIfExists(path)).rejects.toMatchObject({ code: 'not-a-file' });
    await rm(path, { recursive: true });
    await writeFile(path, 'A=1\n');
    expect(await readTextFileIfExists(path)).toEqual({ path, text: 'A=1\n' });
  });
});
