import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { readLimitedFile } from '../../../src/core/files/read-limited-file.ts';
import { temporaryDirectory } from '../../rig/temporary-directory.ts';

let folder: string;
beforeEach(async () => {
  folder = await temporaryDirectory();
});

it('reads a file up to the limit', async () => {
  const path = join(folder, 'file');
  await writeFile(path, 'four');
  expect(String(await readLimitedFile(path, { limit: 4 }))).toBe('four');
  await expect(readLimitedFile(path, { limit: 3 })).rejects.toMatchObject({ code: 'EFBIG' });
});

it('rejects files that may be endless, and missing files', async () => {
  const pipe = join(folder, 'pipe');
  execFileSync('mkfifo', [pipe]);
  await expect(readLimitedFile(pipe)).rejects.toMatchObject({ code: 'EINVAL' });
  const socket = join(folder, 'socket');
  const server = createServer().listen(socket);
  await once(server, 'listening');
  await expect(readLimitedFile(socket)).rejects.toMatchObject({ code: 'EINVAL' });
  server.close();
  await expect(readLimitedFile('/dev/zero')).rejects.toMatchObject({ code: 'EINVAL' });
  await expect(readLimitedFile(folder)).rejects.toMatchObject({ code: 'EISDIR' });
  await expect(readLimitedFile(join(folder, 'none'))).rejects.toMatchObject({ code: 'ENOENT' });
});
