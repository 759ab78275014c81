import { rm, stat } from 'node:fs/promises';
import { execa } from 'execa';
import { findNamed, removeNamed } from '../../rig/engine-api.ts';
import { updaterImage } from '../../rig/updater-run.ts';

export interface Traces {
  /** Stands in the name of everything that the demo makes, and of nothing else. */
  name: string;
  directory: string;
  registry: string;
}

/** Removes every trace of a demo, whatever state it is in; false where there was none. */
export async function removeAll({ name, directory, registry }: Traces): Promise<boolean> {
  const found = await findNamed(name);
  const there = await stat(directory).then(
    () => true,
    () => false,
  );
  await removeNamed(name);
  // Files belong to root where its containers wrote them.
  if (there && process.getuid?.() !== 0) {
    const inside = ['--network', 'none', '-v', `${directory}:/demo`, '--entrypoint', '/bin/rm', updaterImage];
    await execa('docker', ['run', '--rm', ...inside, '-rf', `/demo/${name}`]);
  }
  await rm(directory, { recursive: true, force: true });
  const parts = ['db', 'proxy', 'tunnel', 'platform-db', 'platform-proxy', 'platform-base', 'svc'];
  await Promise.all(parts.map((part) => forget(registry, `${name}/${part}`)));
  return there || found.containers.length > 0;
}

/** Takes a repository's tags out of the registry; what is stored of layers stays there for the next demo. */
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
