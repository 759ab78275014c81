import { UpdateError } from '../../core/errors/update-error.ts';
import { explainProxyError, proxyAdvice } from '../proxy-error.ts';
import { parseComposeMessages } from './compose-output.ts';
import type { CommandResult } from './run-command.ts';

export function createComposeError(result: CommandResult): UpdateError {
  const messages = parseComposeMessages(result.stderr);
  if (hasNoPlugin(result))
    return new UpdateError('no-compose', `docker compose is not installed: ${messages[0]}`);
  const refused = explainProxyError(messages.join('\n'));
  if (refused !== null) return new UpdateError('socket-denied', refused, { advice: proxyAdvice });
  const recorded = messages.at(-1)?.split(`${dryRunRejectionText} `)[1];
  if (recorded)
    return new UpdateError(
      'drift',
      `docker compose first needs ${recorded}, so the updater cannot compare the containers with the files`,
      { advice: 'Run {up}, which adds what is missing. Then run {command} again.' },
    );
  if (isModelPluginMissing(result))
    return new UpdateError(
      'outside-mounts',
      'compose needs the docker-model plugin for models, but the updater container does not have it',
      { advice: mountPlugin },
    );
  return new UpdateError(
    'compose-invalid',
    `compose rejects the project: ${messages.at(-1) ?? 'no reason given'}`,
    {
      detail: messages.slice(0, -1),
      ...findComposeAdvice(messages.at(-1) ?? ''),
    },
  );
}

/** Checks whether docker or its compose plugin is missing. */
const hasNoPlugin = ({ exitCode, stderr }: CommandResult): boolean =>
  /^spawn \S+ ENOENT|is not a docker command|^docker: unknown command/m.test(stderr) ||
  (exitCode === 125 && stderr.startsWith('unknown flag: --ansi'));

/** Start of the response with which a dry run rejects requests that would change something. */
export const dryRunRejectionText = 'svc-updater records, but does not execute';

/** Advice to mount docker-model. Docker's packages install the plugin at the host path in this text. */
const mountPlugin =
  'Add -v /usr/libexec/docker/cli-plugins/docker-model:/usr/local/libexec/docker/cli-plugins/docker-model:ro to the docker run command. If docker info on the host prints a different path for the plugin, use that path before the first colon.';

/**
 * Checks whether compose failed because docker-model is missing. Since 2.38, compose prints this message for a project
 * with `models:`.
 */
export const isModelPluginMissing = ({ exitCode, stderr }: CommandResult): boolean =>
  exitCode !== 0 && /'models' support requires Docker Model plugin/.test(stderr);

function findComposeAdvice(message: string): { advice?: string } {
  const missing = /required variable (\w+) is missing/.exec(message)?.[1];
  if (missing) return { advice: `Make sure that .env exists and sets ${missing}, then run {command} again.` };
  // `docker compose config` accepts missing external networks and volumes. Only a later command fails.
  const network = /network (\S+) declared as external, but could not be found/.exec(message)?.[1];
  const volume = /external volume "([^"]+)" not found/.exec(message)?.[1];
  const missed = network ? `network create ${network}` : volume && `volume create ${volume}`;
  if (missed) {
    return {
      advice: `Create it with docker ${missed} or correct its name in the file, then run {command} again.`,
    };
  }
  // Only compose before 5.2 reports this error. Later versions merge a service with an included service of the same
  // name.
  if (/conflicts with imported resource/.test(message)) {
    return {
      advice:
        'This version of compose cannot merge a service with an included service of the same name. Move its settings to compose.override.yaml, start the instance once with {up}, then run {command} again.',
    };
  }
  if (/error response from daemon: /i.test(message))
    return { advice: 'Fix the cause that the engine reports, then run {command} again.' };
  return {};
}
