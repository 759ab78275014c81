import { join } from 'node:path';
import { execa } from 'execa';
import { expect, inject, onTestFinished, test } from 'vitest';
import { expectWords } from '../e2e/support/attempt.ts';
import { alone } from '../e2e/support/instance.ts';
import { createWithData, during } from '../e2e/support/own-data.ts';
import { judgeUpdated } from '../judge/judge.ts';
import { judgeGoodLog, judgeOutcome } from '../judge/log.ts';
import { look } from '../judge/look.ts';
import { startInstance } from '../rig/instance.ts';
import { mountLoop } from '../rig/loop-disk.ts';

// File systems of a NAS: xfs, and btrfs, whose subvolumes are separate devices but not mounts.

const sh = (script: string, ...args: string[]) => execa('bash', ['-euc', script, 'bash', ...args]);

async function mounted(kind: 'btrfs' | 'xfs', name: string): Promise<string> {
  const disk = await mountLoop(kind, join(inject('host').directory, name));
  onTestFinished(disk.unmount);
  return disk.directory;
}

test.each(['btrfs', 'xfs'] as const)(
  'an update on %s keeps the permissions and attributes of the edited file',
  async (kind) => {
    const host = inject('host');
    await mounted(kind, kind);
    const instance = await startInstance(host, { ...alone, folder: kind });
    onTestFinished(() => instance.dispose());
    const file = join(instance.directory, '.env');
    await sh(
      'chown 1234:4321 "$1"; chmod 640 "$1"; setfattr -n user.mine -v 1 "$1"; setfacl -m u:77:r "$1"',
      file,
    );
    if (kind === 'btrfs') await sh('setfattr -n btrfs.compression -v zstd "$1"', file);
    const rights = async () =>
      (await sh('stat -c "%a %u %g" "$1"; getfacl -cn "$1"; getfattr -dm ^user -m ^btrfs "$1"', file)).stdout;
    const [had, before] = [await rights(), await look(instance)];
    const result = await instance.update(['--target', 'v1.1.0']);
    const changed = { '.env': (text: string) => text.replace('v1.0.0', 'v1.1.0') };
    const facts = [
      ...judgeOutcome(result, ['updated']),
      ...judgeUpdated(before, await look(instance), { version: 'v1.1.0', changed }),
      ...judgeGoodLog(result, {}),
    ];
    expect(facts, result.log).toEqual([]);
    expect(await rights()).toBe(had);
  },
);

test('a subvolume is saved and restored like a directory, and a subvolume inside it is rejected', {
  timeout: 300_000,
}, async () => {
  await mounted('btrfs', 'subvolumes');
  const instance = await createWithData({
    folder: 'subvolumes',
    publish: ['v1.1.1'],
    impatient: true,
    up: ['--no-deps', '--no-start', 'app', 'worker', 'db'],
  });
  const data = join(instance.directory, 'data');
  await sh(
    `mv "$1" "$1.old"; btrfs -q subvolume create "$1"; cp -a "$1.old/." "$1"; mkdir "$1/small"
    setfattr -n btrfs.compression -v zstd "$1/small"`,
    data,
  );
  await instance.compose('up', '-d', '--no-deps', 'app', 'worker', 'db');
  await instance.waitUntilHealthy();
  const bad = ['--target', 'v1.1.1', '--restore-point'];
  const result = await during(instance, { args: bad, verb: 'restore' }, () =>
    sh('echo new >"$1/note"; rm -r "$1/small"', data),
  );
  expectWords(result, { exitCode: 4, says: [], ends: [/^failed \(rolled-back\): /] });
  expect(await instance.read('data/note')).toBe('of v1.0.0\n');
  const { stdout } = await sh(
    'getfattr --absolute-names --only-values -n btrfs.compression "$1/small"',
    data,
  );
  expect(stdout).toBe('zstd');

  await sh('btrfs -q subvolume create "$1/nested"; touch "$1/nested/file"', data);
  expectWords(await instance.update(bad), {
    exitCode: 3,
    says: ['app:/data contains another file system or subvolume at "/nested"'],
    ends: [/^refused \(data-unsupported\): nothing was changed; v1\.0\.0 is still running/],
  });
});
