import { rm, stat } from 'node:fs/promises';
import { execa } from 'execa';
import { findNamed, removeNamed } from '../../rig/engine-api.ts';
import { updaterImage } from '../../rig/updater-run.ts';

export interface Traces {
  /** Part of the name of everything that the demo creates, and of nothing else. */
  name: string;
  directory: string;
  registry: string;
}

/** Removes a demo in any state. @returns false if there was none */
export async function removeAll({ name, directory, registry }: Traces): Promise<boolean> {
  const found = await findNamed(name);
  const there = await stat(directory).then(
    () => true,
    () => false,
  );
  await removeNamed(name);
  // Files written by containers belong to root.
  if (there && process.getuid?.() !== 0) {
    const inside = ['--network', 'none', '-v', `${directory}:/demo`, '--entrypoint', '/bin/rm', updaterImage];
    await execa('docker', ['run', '--rm', ...inside, '-rf', `/demo/${name}`]);
  }
  await rm(directory, { recursive: true, force: true });
  const parts = ['db', 'proxy', 'tunnel', 'platform-db', 'platform-proxy', 'platform-base', 'svc'];
  await Promise.all(parts.map((part) => forget(registry, `${name}/${part}`)));
  return there || found.containers.length > 0;
}

/** Removes the tags of a repository from the registry. The layers are kept for the next demo. */
async function forget(registry: string, repository: string): Promise<void> {
  const base = `http://${registry}/v2/${repository}`;
  const listed = await fetch(`${base}/tags/list`).catch(() => undefined);
  if (listed?.status !== 200) return;
  const { tags } = (await listed.json()) as { tags: string[] | null };
  const headers = { Accept: 'application/vnd.docker.distribution.manifest.v2+json' };
  for (const tag of tags ?? []) {
    const found = await fetch(`${base}/manifests/${tag}`, { method: 'HEAD', headers });
    const digest = found.headers.get('docker-content-digest');
    if (digest !== null) await fetch(`${base}/manifests/${digest}`, { method: 'DELETE' });
  }
}
