import { presentRehearsal } from '../../presentation/present-status.ts';
import type { Problem } from '../../wire/api-client/parse-responses.ts';
import type { FailedResult } from '../../wire/api-client/request-result.ts';
import type { Rehearsal } from '../../wire/status.ts';
import {
  type ClientCommand,
  type CommandContext,
  CommandFailedError,
  CommandUsageError,
  interruptedExitCode,
} from '../command-line/client-command.ts';
import { getProductNames } from '../command-line/product-names.ts';
import {
  createRequestFailedError,
  createSession,
  requireAdminStatus,
  type Session,
} from '../connection/create-session.ts';
import { createClientTextsAndFormats } from '../output/client-texts-and-formats.ts';
import { formatBlockingReason, formatPresentationParts } from '../output/status-lines.ts';
import {
  escapeControlCharacters,
  escapeResponseTexts,
  formatServerMessage,
  joinLines,
} from '../output/text.ts';
import { chooseUpdateTarget, createTargetOptions, problemReasonOf } from '../start/choose-update-target.ts';
import { promptForNewSettings } from '../start/prompt-for-new-settings.ts';

export const instanceRehearseCommand: ClientCommand = {
  name: 'instance rehearse',
  summary: 'Try the update on a copy of the data ({product} is suspended for up to 30 seconds)',
  options: {
    ...createTargetOptions('rehearse'),
    cancel: { help: 'Cancel the rehearsal in progress' },
  },
  examples: [
    [
      '{product} instance rehearse',
      'exit with 0 if the rehearsal succeeded, with 4 if it failed, or with 3 if it had no result or did not start',
    ],
    ['{product} instance rehearse && {product} instance update', 'update only after a successful rehearsal'],
  ],
  run,
};

const pauseMs = 1_000;
/** Time in ms for which the status may lack the rehearsal, for example while the server restarts. */
const maxMissingMs = 60_000;
const exitCodeByState: Readonly<Record<string, number>> = { succeeded: 0, failed: 4 };

async function run(context: CommandContext): Promise<number> {
  const { options, list } = context.args;
  const isCancellation = options.cancel === true;
  if (isCancellation && (options.target !== undefined || list.length > 0))
    throw new CommandUsageError('--cancel cannot be combined with --target or --set.');
  const session = createSession(context);
  return isCancellation ? cancel(session) : start(session);
}

async function cancel(session: Session): Promise<number> {
  const { reader, signal, stdout } = session;
  const response = await reader.cancelRehearsal({ signal });
  if (response.kind !== 'ok') {
    const { detail } = requireRejection(session, response);
    stdout.write(joinLines([formatServerMessage(escapeControlCharacters(detail))]));
    return 3;
  }
  return (await follow(session, response.value)) === 'cancelled' ? 0 : 3;
}

async function start(session: Session): Promise<number> {
  const { reader, signal, stdout, args } = session;
  const status = await requireAdminStatus(reader.fetchStatus({ refresh: true, signal }), session);
  const { target: requestedTarget } = args.options;
  const request = {
    // Running jobs do not block a rehearsal.
    force: true as const,
    ...(typeof requestedTarget === 'string' && { target: requestedTarget }),
  };
  const target = chooseUpdateTarget(status, request);
  if (typeof target !== 'string') {
    stdout.write(joinLines(target.lines));
    return target.exitCode;
  }
  const { version, settings = [] } = escapeResponseTexts(status.next) ?? {};
  const given = await promptForNewSettings(session, version === target ? settings : []);
  const order = { target, ...(Object.keys(given).length > 0 && { settings: given }) };
  const response = await reader.startRehearsal(order, { signal });
  if (response.kind === 'ok') return exitCodeByState[await follow(session, response.value)] ?? 3;
  const reason = problemReasonOf(requireRejection(session, response));
  const lines = formatBlockingReason(escapeResponseTexts(reason), escapeResponseTexts(status), 'rehearsal');
  stdout.write(joinLines(lines));
  return 3;
}

/** Returns the problem document of a rejected request. @throws CommandFailedError if the request failed otherwise */
function requireRejection(session: Session, response: FailedResult): Problem {
  if (response.kind === 'problem' && response.problem.status === 409) return response.problem;
  throw createRequestFailedError(response, session);
}

/** Prints the progress until the rehearsal has ended, then its result. Returns the last state. */
async function follow(session: Session, { startedAt, version }: Rehearsal): Promise<Rehearsal['state']> {
  const { reader, signal, stdout, now } = session;
  let lastLine = '';
  for (let seenAt = now(); ; ) {
    const response = await reader.fetchStatus({ signal });
    if (signal.aborted)
      throw new CommandFailedError(
        interruptedExitCode,
        `The rehearsal continues. To cancel it: ${getProductNames().name} instance rehearse --cancel`,
      );
    if (response.kind === 'logged-out') throw createRequestFailedError(response, session);
    const status = response.kind === 'ok' && 'rehearsal' in response.value ? response.value : null;
    // After a restart, the server first has to find the rehearsal again.
    const rehearsal = escapeResponseTexts(status?.rehearsal ?? null);
    if (status !== null && rehearsal?.startedAt === startedAt) {
      seenAt = now();
      if (rehearsal.endedAt !== null) {
        const t = createClientTextsAndFormats(status.now);
        stdout.write(joinLines(formatPresentationParts([presentRehearsal(rehearsal, t)], t)));
        return rehearsal.state;
      }
      const line = formatServerMessage(rehearsal.message);
      if (line !== lastLine) stdout.write(joinLines([line]));
      lastLine = line;
    } else if (status?.version === version) {
      // An update to the version has ended the rehearsal.
      stdout.write(joinLines([`${escapeControlCharacters(version)} is running now.`]));
      return 'cancelled';
    } else if (now() - seenAt > maxMissingMs) {
      if (response.kind !== 'ok') throw createRequestFailedError(response, session);
      throw new CommandFailedError(
        1,
        `The server no longer reports the rehearsal, so its result is unknown. To see the running version: ${getProductNames().name} instance status`,
      );
    }
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}
