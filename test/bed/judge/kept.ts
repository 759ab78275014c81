import { join } from 'node:path';
import { copies } from './databases.ts';
import { type Place, walk } from './look.ts';

/**
 * What is kept of a version that was left lies in one place, that of the newest run, and is for root alone; what was kept
 * before is gone with it.
 */
export async function judgeKept(place: Place): Promise<string[]> {
  const found = Object.entries(await walk(join(place.directory, '.svc-updater', 'restore')));
  const open = found.filter(([, { kind, mode, owner }]) => {
    return owner !== '0:0' || mode !== (kind === 'directory' ? '0o700' : '0o600');
  });
  const runs = found.map(([path]) => path).filter((path) => /^\d{8}T\d{6}Z$/.test(path));
  const stray = (await copies(place)).filter((name) => !runs.some((run) => name.includes(run.toLowerCase())));
  return [
    ...open.map(([path, { mode, owner }]) => `what is kept is open to others: ${path} ${mode} ${owner}`),
    ...(runs.length === 1 ? [] : [`kept of ${runs.length} runs: ${runs.join(', ')}`]),
    ...stray.map((name) => `the database ${name} is of no point`),
  ];
}
