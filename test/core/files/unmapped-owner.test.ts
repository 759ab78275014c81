import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, mkdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { findUnmappedOwner } from '../../../src/core/files/unmapped-owner.ts';
import { mapIds } from '../../rig/id-maps.ts';
import { temporaryDirectory } from '../../rig/temporary-directory.ts';

const isRoot = process.getuid?.() === 0;
const script = fileURLToPath(new URL('in-user-namespace.ts', import.meta.url));
/** The id map of a rootless engine: its user is root in the namespace, followed by the subordinate ids. */
const map = '0 100000 1\n1 200000 65536\n';

it.skipIf(!isRoot)(
  'reports files with unmapped owners, and gives no new file to an unmapped user',
  async () => {
    const folder = await temporaryDirectory();
    await chown(folder, 100_000, 100_000);
    // Host ids: the engine's user, two unmapped owners, an unmapped group, two mapped owners (`nobody` is the last).
    const rows = [
      [100_000, 100_000, null],
      [0, 0, 'owner'],
      [1234, 100_000, 'owner'],
      [100_000, 1234, 'group'],
      [200_007, 200_007, null],
      [200_000 + 65_533, 200_000 + 65_533, null],
      // A trial change of the owner is impossible: the file would lose its set-user-id bit.
      [200_000 + 65_533, 200_000 + 65_533, 'owner', 0o4755],
    ] as const;
    const files = await Promise.all(
      rows.map(async ([uid, gid, , mode = 0o644], at) => {
        const path = join(folder, String(at));
        await writeFile(path, '');
        await chown(path, uid, gid);
        await chmod(path, mode);
        return path;
      }),
    );
    const directories = await Promise.all(
      [1234, 200_007].map(async (uid) => {
        const path = join(folder, `of-${uid}`);
        await mkdir(path);
        await chmod(path, 0o777);
        await chown(path, uid, uid);
        return path;
      }),
    );
    const command = [process.execPath, script, ...files, ...directories];
    const child = spawn('unshare', ['--user', '--keep-caps', '--', ...command]);
    const [said, errors] = [text(child.stdout), text(child.stderr)];
    await once(child, 'spawn');
    await mapIds(child.pid, map);
    child.stdin.end('\n');
    expect([await said, await errors]).toEqual([
      rows.map(([, , who]) => (who ? `its ${who} is not mapped into this container\n` : 'kept\n')).join(''),
      '',
    ]);
    const modes = await Promise.all(files.map(async (path) => (await stat(path)).mode & 0o7777));
    expect(modes).toEqual(rows.map(([, , , mode = 0o644]) => mode));
    const made = await Promise.all(directories.map(async (path) => (await stat(join(path, 'made'))).uid));
    expect(made).toEqual([100_000, 200_007]);
    // If all ids are mapped, even the user `nobody` counts as mapped.
    await chown(files[0] ?? '', 65_534, 65_534);
    expect(await findUnmappedOwner(files[0] ?? '')).toBeNull();
  },
);
