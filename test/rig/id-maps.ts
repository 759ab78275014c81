import { readlink, writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

/** Maps users and groups of a child's own user namespace, once it exists: no event reports that. */
export async function mapIds(pid: number | undefined, map: string): Promise<void> {
  const namespaceOf = (who: number | string) => readlink(`/proc/${who}/ns/user`);
  const own = await namespaceOf('self');
  while ((await namespaceOf(pid ?? 0)) === own) await sleep(10);
  for (const kind of ['uid', 'gid']) await writeFile(`/proc/${pid}/${kind}_map`, map);
}
