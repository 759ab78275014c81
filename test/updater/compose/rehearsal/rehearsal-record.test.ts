import { mkdirSync } from 'node:fs';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { chdir, cwd } from 'node:process';
import { expect, it, vi } from 'vitest';
import { removeCopies } from '../../../../src/updater/compose/rehearsal/rehearsal-record.ts';
import { temporaryDirectory } from '../../../rig/temporary-directory.ts';

it('removes copies in which a release has created paths that are too long for a system call', async () => {
  const parent = await temporaryDirectory();
  const copies = join(parent, 'rehearsal-1');
  await mkdir(join(copies, '0-app', '0'), { recursive: true });
  await writeFile(join(copies, '0-app', '0', 'file'), 'x');
  const before = cwd();
  chdir(join(copies, '0-app', '0'));
  for (let depth = 0; depth < 40; depth++) {
    mkdirSync('d'.repeat(200));
    chdir('d'.repeat(200));
  }
  chdir(before);
  // Like `rm` of BusyBox, which cannot remove such paths.
  const programs = await temporaryDirectory();
  await writeFile(join(programs, 'rm'), '#!/bin/sh\nexec /bin/rmdir -- "$3"\n', { mode: 0o755 });
  vi.stubEnv('PATH', `${programs}:${process.env.PATH}`);
  await removeCopies(copies);
  expect(await readdir(parent)).toEqual([]);
});
