import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, inject, onTestFinished, test } from 'vitest';
import { files } from '../../src/agent/data/files.ts';
import { judgeUpdated } from '../judge/judge.ts';
import { judgeGoodLog, judgeOutcome } from '../judge/log.ts';
import { look } from '../judge/look.ts';
import { startInstance } from '../rig/instance.ts';
import { mountLoop } from '../rig/loop-disk.ts';
import { docker, judged, makeTree, sh, spoil, stage } from './support/file-stage.ts';
import { alone } from './support/instance.ts';

// Disks as a NAS has them: xfs, and btrfs, whose subvolumes are other devices without being mounts.

async function mounted(kind: 'btrfs' | 'xfs', name: string): Promise<string> {
  const disk = await mountLoop(kind, join(inject('host').directory, name));
  onTestFinished(disk.unmount);
  return disk.directory;
}

test.each(['btrfs', 'xfs'] as const)(
  'on %s: a whole update, and the file has the rights that it had',
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

test('a subvolume is kept and put back as any directory; one in it is refused, and never left out in silence', {
  timeout: 300_000,
}, async () => {
  const { directory, work, place, run } = await stage(await mounted('btrfs', 'subvolumes'));
  const data = join(directory, 'data');
  await sh(
    'btrfs -q subvolume create "$1"; mkdir "$1/small"; setfattr -n btrfs.compression -v zstd "$1/small"',
    data,
  );
  await makeTree(data);
  await docker('stop', await run('app', ['-v', `${data}:/data`]));
  const before = await judged(data);
  const { source, refusals } = await files.survey(['app'], place, work);
  expect(refusals).toEqual([]);
  const part = await files.save(source, place, work);
  await spoil(data);
  await files.restore(source, part, { archives: [] }, place, work);
  expect(await judged(data)).toBe(before);

  // Since it was looked at, and before it is kept.
  const nested = join(data, 'nested');
  await sh('btrfs -q subvolume create "$1"', nested);
  await writeFile(join(nested, 'file'), 'text');
  const all = await judged(data);
  expect((await files.survey(['app'], place, work)).refusals).toEqual([
    `app:/data has another file system or subvolume at "/nested", which is not kept with it: move that one out of ${data}, and mount it into the service by itself`,
  ]);
  const elsewhere = join(directory, 'elsewhere');
  await mkdir(elsewhere, { mode: 0o700 });
  const other = { ...place, here: elsewhere, host: elsewhere };
  await expect(files.save(source, other, work)).rejects.toMatchObject({ code: 'save-failed' });
  await expect(files.restore(source, part, { archives: [] }, place, work)).rejects.toMatchObject({
    code: 'data-not-back',
    message: expect.stringContaining('another file system or subvolume is at /nested'),
  });
  expect(await judged(data)).toBe(all);

  // The way out that the refusal names.
  await sh('mv "$1" "$2/moved"', nested, directory);
  const both = ['-v', `${data}:/data`, '-v', `${directory}/moved:/data/nested`];
  await docker('stop', await run('worker', both));
  const found = await files.survey(['worker'], place, work);
  expect(found.refusals).toEqual([]);
  expect(found.source.mounts.map(({ where }) => where)).toEqual(['worker:/data', 'worker:/data/nested']);
});
