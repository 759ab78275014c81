import { copyFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { platformKey } from '../rig/sign-release.ts';
import { command, say } from './print.ts';

const script = fileURLToPath(new URL('../../../scripts/publisher', import.meta.url));

/** Changes the channel file like the publisher of the platform, and attaches it to all releases. */
export async function changeChannel(directory: string, args: readonly string[]): Promise<void> {
  const [key, out] = [join(directory, 'publisher.pem'), join(directory, 'channel')];
  await writeFile(key, platformKey, { mode: 0o600 });
  const words = args.map((word) => (/^[\w./:-]+$/.test(word) ? word : `'${word}'`));
  command(`scripts/publisher ${words.join(' ')} --key publisher.pem --out channel`);
  await execa(script, [...args, '--key', key, '--out', out], { stdio: ['ignore', 'inherit', 'inherit'] });
  say('');
  const releases = join(directory, 'releases');
  for (const version of await readdir(releases))
    for (const name of await readdir(out)) await copyFile(join(out, name), join(releases, version, name));
}

/** Publishes a release on the forge. */
export async function publish(forgeUrl: string, version: string): Promise<void> {
  await fetch(`${forgeUrl}/publish?version=${version}`, { method: 'POST' });
}
