import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { listContainers, listImages } from '../rig/engine-api.ts';
import type { Instance } from '../rig/instance.ts';
import type { Snapshot } from '../rig/snapshot.ts';

/** Everything that the judge needs: the state of an instance at one moment, as plain data. */
export interface Look extends Snapshot {
  /** Image ids by reference, in repositories of this instance only. */
  tags: Record<string, string>;
  /** All starts of app and worker so far, such as `app v1.0.0`, in order. */
  boots: readonly string[];
  /**
   * Objects that remain only after a killed run: lock, temporary files, temporary containers, and more than five
   * backups.
   */
  leftovers: readonly string[];
}

export async function look(instance: Instance): Promise<Look> {
  const [snapshot, tags, boots, leftovers] = await Promise.all([
    instance.snapshot(),
    localTags(instance),
    // An instance whose app is not the shell script may have no list of starts.
    instance.boots().catch(() => []),
    findLeftovers(instance),
  ]);
  return { ...snapshot, tags, boots, leftovers };
}

async function localTags({ image }: Instance): Promise<Look['tags']> {
  const prefix = `${dirname(image)}/`;
  const images = await listImages(`${prefix}*`);
  const tags = images.flatMap(({ id, tags }) => tags.map((tag): [string, string] => [tag, id]));
  return Object.fromEntries(
    tags.filter(([tag]) => tag.startsWith(prefix)).sort(([a], [b]) => a.localeCompare(b)),
  );
}

const kept = [
  ...['.gitignore', 'backup', 'journal.json', 'last-rehearsal.log', 'last-run.log', 'rehearsed.json'],
];
const keptBackups = 5;

async function findLeftovers({ directory, project }: Instance): Promise<string[]> {
  const list = (...path: string[]) => readdir(join(directory, '.svc-updater', ...path)).catch(() => []);
  const [names, backups, scratch] = await Promise.all([
    list(),
    list('backup'),
    listContainers({ label: [`svc-updater.scratch=${project}`] }),
  ]);
  return [
    ...names.filter((name) => !kept.includes(name)).map((name) => `.svc-updater/${name}`),
    ...(backups.length > keptBackups ? [`${backups.length} backups, where ${keptBackups} are kept`] : []),
    ...scratch.map((name) => `scratch container ${name}`),
  ];
}
