import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { judgeUntouched, judgeUpdated } from '../judge/judge.ts';
import { judgeGoodLog, judgeOutcome, judgeWords } from '../judge/log.ts';
import { look } from '../judge/look.ts';
import { startInstance } from '../rig/instance.ts';
import type { TestHost } from '../rig/test-host.ts';
import { ownDirectory, tryOnOwnHost } from './own-host.ts';

// A separate engine that runs containers with mapped users (userns-remap), and that adds log options, limits and
// shared memory to every container that no file contains.

const flags = [
  ...['--userns-remap', 'daemon', '--default-shm-size', '100m', '--default-ulimit', 'nofile=5000:6000'],
  ...['--log-opt', 'max-size=5m', '--log-opt', 'max-file=2', '--default-ipc-mode', 'shareable'],
];

/**
 * The engine reads the subordinate ids from files of the machine. Here, these files are replaced for the engine only.
 */
async function giveSubordinateUsers(): Promise<void> {
  const directory = ownDirectory();
  // The mapped root needs access to the engine's data.
  await chmod(directory, 0o711);
  for (const name of ['subuid', 'subgid']) {
    const file = join(directory, name);
    await writeFile(file, 'daemon:100000:65536\n');
    await execa('mount', ['--bind', file, `/etc/${name}`], { timeout: 10_000 });
  }
}

async function tryUpdate(host: TestHost): Promise<string[]> {
  // The mapped root of app and worker writes there.
  process.umask(0);
  const instance = await startInstance(host);
  const before = await look(instance);
  const toNext = ['--target', 'v1.1.0'];
  const refused = await instance.update(toNext);
  const untouched = [
    ...judgeWords(refused, {
      exitCode: 3,
      says: [],
      ends: ['refused (', 'nothing was changed', 'Next: Add --userns=host to the docker run command'],
    }),
    ...judgeUntouched(before, await look(instance)),
  ];
  if (untouched.length > 0) return [...untouched, refused.log];
  const result = await instance.update(toNext, { docker: ['--userns=host'] });
  const changed = { '.env': (text: string) => text.replace('v1.0.0', 'v1.1.0') };
  const facts = [
    ...judgeOutcome(result, ['updated']),
    ...judgeGoodLog(result, {}),
    ...judgeUpdated(before, await look(instance), { version: 'v1.1.0', changed }),
  ];
  return facts.length > 0 ? [...facts, result.log] : [];
}

await tryOnOwnHost(import.meta.filename, ({ host }) => tryUpdate(host), {
  flags,
  prepare: giveSubordinateUsers,
});
