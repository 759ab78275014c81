import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import type { Place } from './look.ts';

/** There are only these restore points, for root alone, and no image tag of another one. */
export async function judgeKept({ directory, project }: Place, count: number): Promise<string[]> {
  const points = join(directory, '.svc-updater', 'restore');
  const runs = (await readdir(points)).filter((name) => /^\d{8}T\d{6}Z$/.test(name));
  const open = [];
  for (const path of [points, ...runs.map((run) => join(points, run))]) {
    const { mode, uid } = await stat(path);
    if ((mode & 0o77) !== 0 || uid !== 0) open.push(`${path} is open to others: ${mode.toString(8)} ${uid}`);
  }
  const { stdout } = await execa('docker', [
    'image',
    'ls',
    '--format',
    '{{.Tag}}',
    'svc-updater-restore-point',
  ]);
  const stray = stdout
    .split('\n')
    .filter((tag) => tag.startsWith(`${project}-`) && !runs.some((run) => tag.includes(run.toLowerCase())));
  return [
    ...open,
    ...(runs.length === count ? [] : [`there are restore points of ${runs.length} runs: ${runs.join(', ')}`]),
    ...stray.map((tag) => `the tag ${tag} is of no restore point`),
  ];
}
