import { runCommand } from '../../engine/cli/command.ts';
import { engineAddress } from './engine-address.ts';
import { version } from './version.ts';

/** An engine that is shut down may hold a connection open. */
const deadlineMs = 4_000;

/** What `--version` prints: the updater, what it brings, and the engine where one answers. */
export async function versionLine(env: Readonly<Record<string, string | undefined>>): Promise<string> {
  const { host, tls } = engineAddress(env);
  const [cli, compose, engine] = await Promise.all([
    told(['version', '--format', '{{.Client.Version}}'], 'docker CLI'),
    told(['compose', 'version', '--short'], 'compose'),
    told(['--host', host, ...tls, 'version', '--format', '{{.Server.Version}}'], 'engine'),
  ]);
  return `svc-updater ${[version, cli, compose, engine].flat().join(', ')}\n`;
}

/** Nothing where the command is not there, or finds no engine. */
async function told(args: readonly string[], of: string): Promise<string[]> {
  const env = { PATH: process.env.PATH ?? '' };
  const { stdout } = await runCommand('docker', args, { env, deadlineMs });
  const [first = ''] = stdout.trim().split('\n');
  return /^v?\d/.test(first) ? [`${of} ${first}`] : [];
}
