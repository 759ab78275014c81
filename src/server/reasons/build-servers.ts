import { channelOf, isNewerVersion } from '../../core/release/channel.ts';
import type { BuildServer, Run } from '../../wire/status.ts';
import { formatBuildServerWarning } from '../../wire/texts/build-server-warning.ts';
import { ApplicationError, callApplication } from '../application/call-application.ts';
import type { ServerTiming } from '../contract/timing.ts';
import type { ValidatedInstanceOptions } from '../contract/validate-options.ts';

/**
 * Asks the application for the build servers, and marks those that are older than `version` as outdated. Returns an
 * empty list if the application does not respond.
 */
export async function fetchBuildServers(
  settings: ValidatedInstanceOptions,
  { host }: ServerTiming,
  version: string,
): Promise<BuildServer[]> {
  try {
    const response: unknown = await callApplication('buildServers', () => settings.buildServers(), host);
    if (!Array.isArray(response)) return [];
    return response.flatMap((one) => readBuildServer(one, version));
  } catch (cause) {
    if (!(cause instanceof ApplicationError)) throw cause;
    settings.log({ level: 'warn', message: 'cannot list the build servers', cause });
    return [];
  }
}

/** Returns a warning for each outdated build server. The result is empty unless the run updated the instance. */
export async function fetchBuildServerWarnings(
  { outcome, to }: Run,
  settings: ValidatedInstanceOptions,
  timing: ServerTiming,
): Promise<string[]> {
  if (outcome !== 'updated') return [];
  const servers = await fetchBuildServers(settings, timing, to ?? settings.version);
  return servers.filter(({ outdated }) => outdated).map(formatBuildServerWarning);
}

/** Validates one build server. Returns an empty list if the name, version or command is missing. */
function readBuildServer(one: unknown, running: string): BuildServer[] {
  const { name, version: given, command } = Object(one) as Record<string, unknown>;
  if (typeof name !== 'string' || typeof given !== 'string' || typeof command !== 'string') return [];
  const version = /^\d/.test(given) ? `v${given}` : given;
  const isOfRelease = channelOf(version) !== null && channelOf(running) !== null;
  return [
    {
      name,
      version,
      // Only releases can be ordered. Any other version is outdated if it differs from the running version.
      outdated: isOfRelease ? isNewerVersion(running, version) : version !== running,
      command,
    },
  ];
}
