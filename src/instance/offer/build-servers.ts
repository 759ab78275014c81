import { channelOf, isAhead } from '../../release/channel.ts';
import { leftBehind } from '../../wire/left-behind.ts';
import type { BuildServer, Run } from '../../wire/status.ts';
import type { Settings } from '../contract/options.ts';
import type { Timing } from '../contract/timing.ts';
import { askHost, HostFailure } from '../host/ask-host.ts';

/** The build servers of the host beside that version; none where the host does not answer. */
export async function askBuildServers(
  settings: Settings,
  { host }: Timing,
  version: string,
): Promise<BuildServer[]> {
  try {
    const answer: unknown = await askHost('buildServers', () => settings.buildServers(), host);
    if (!Array.isArray(answer)) return [];
    return answer.flatMap((one) => readBuildServer(one, version));
  } catch (cause) {
    if (!(cause instanceof HostFailure)) throw cause;
    settings.log({ level: 'warn', message: 'cannot list the build servers', cause });
    return [];
  }
}

/** The build servers that an update has not reached, as warnings of its end. */
export async function buildServersLeftBehind(
  { outcome, to }: Run,
  settings: Settings,
  timing: Timing,
): Promise<string[]> {
  if (outcome !== 'updated') return [];
  const servers = await askBuildServers(settings, timing, to ?? settings.version);
  return servers.filter(({ outdated }) => outdated).map(leftBehind);
}

/** Empty without a name, a version and a command. */
function readBuildServer(one: unknown, running: string): BuildServer[] {
  const { name, version: given, command } = Object(one) as Record<string, unknown>;
  if (typeof name !== 'string' || typeof given !== 'string' || typeof command !== 'string') return [];
  const version = /^\d/.test(given) ? `v${given}` : given;
  const isOfRelease = channelOf(version) !== null && channelOf(running) !== null;
  return [
    {
      name,
      version,
      // A build of no release is behind where it is another than what runs.
      outdated: isOfRelease ? isAhead(running, version) : version !== running,
      command,
    },
  ];
}
