import { isRequestableTarget } from '../../core/release/channel.ts';
import { presentRehearsal } from '../../presentation/present-status.ts';
import type { Problem } from '../../wire/api-client/parse-responses.ts';
import type { RequestResult } from '../../wire/api-client/request-result.ts';
import type { Rehearsal, Status } from '../../wire/status.ts';
import {
  type ClientCommand,
  type CommandContext,
  CommandFailedError,
} from '../command-line/client-command.ts';
import { getProductNames } from '../command-line/product-names.ts';
import {
  createInterruptedError,
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
import { chooseUpdateTarget } from '../start/choose-update-target.ts';
import { promptForNewSettings } from '../start/prompt-for-new-settings.ts';

export const instanceRehearseCommand: ClientCommand = {
  name: 'instance rehearse',
  summary: 'Try the update on a copy of the data, without changing anything',
  options: {
    target: {
      value: 'VERSION',
      form: [{ test: isRequestableTarget }, '"canary" or a version such as v1.5.0'],
      help: 'Version to try, e.g. v1.5.0, or canary (default: the offered version)',
    },
    set: {
      value: 'NAME[=VALUE]',
      isList: true,
      help: 'Value for a new setting; without =VALUE, {product} asks for it',
    },
    stop: { help: 'Stop the rehearsal in progress' },
  },
  examples: [
    [
      '{product} instance rehearse',
      'exit with 0 if the new version became ready, with 4 if it did not, or with 3 if there was no result',
    ],
    ['{product} instance rehearse && {product} instance update', 'update only after a successful rehearsal'],
  ],
  run,
};

const pauseMs = 1_000;
/** Maximum time in ms until the server must report the rehearsal again after it has lost it. */
const missingMs = 60_000;
const exitCodes: Readonly<Record<string, number>> = { succeeded: 0, failed: 4 };

async function run(context: CommandContext): Promise<number> {
  const session = createSession(context);
  const { reader, signal, stdout, args } = session;
  if (args.options.stop) {
    const stopped = await requireRehearsal(session, await reader.cancelRehearsal({ signal }), null);
    if (stopped === null) return 3;
    await follow(session, stopped);
    return 0;
  }
  const status = await requireAdminStatus(reader.fetchStatus({ refresh: true, signal }), session);
  const { target: named } = args.options;
  const wish = { force: true as const, ...(typeof named === 'string' && { target: named }) };
  const target = chooseUpdateTarget(status, wish);
  if (typeof target !== 'string') {
    stdout.write(joinLines(target.lines));
    return target.exitCode;
  }
  const { version, settings = [] } = escapeResponseTexts(status.next) ?? {};
  const given = await promptForNewSettings(context, version === target ? settings : []);
  const order = { target, ...(Object.keys(given).length > 0 && { settings: given }) };
  const begun = await requireRehearsal(session, await reader.startRehearsal(order, { signal }), status);
  return begun === null ? 3 : follow(session, begun);
}

/** Returns null, and prints the reason, if the server refuses the request. @throws CommandFailedError */
async function requireRehearsal(
  session: Session,
  response: RequestResult<Rehearsal>,
  status: Status | null,
): Promise<Rehearsal | null> {
  if (response.kind === 'ok') return response.value;
  if (response.kind !== 'problem' || response.problem.status !== 409)
    throw createRequestFailedError(response, session);
  session.stdout.write(joinLines(refusalLines(response.problem, status)));
  return null;
}

function refusalLines({ reason, detail }: Problem, status: Status | null): string[] {
  if (reason === undefined || status === null) return [formatServerMessage(escapeControlCharacters(detail))];
  return formatBlockingReason(escapeResponseTexts(reason), escapeResponseTexts(status));
}

/** Prints the progress until the rehearsal has ended. Returns the exit code. */
async function follow(session: Session, begun: Rehearsal): Promise<number> {
  const { reader, signal, stdout, now } = session;
  let shown = '';
  for (let seenAt = now(); ; ) {
    const response = await reader.fetchStatus({ signal });
    if (signal.aborted) throw createInterruptedError();
    if (response.kind === 'logged-out') throw createRequestFailedError(response, session);
    const status = response.kind === 'ok' && 'rehearsal' in response.value ? response.value : null;
    // After a restart, the server first has to find the rehearsal again.
    const rehearsal = escapeResponseTexts(status?.rehearsal ?? null);
    if (status !== null && rehearsal?.startedAt === begun.startedAt) {
      seenAt = now();
      if (rehearsal.endedAt !== null) {
        const t = createClientTextsAndFormats(status.now);
        stdout.write(joinLines(formatPresentationParts([presentRehearsal(rehearsal, t)], t)));
        return exitCodes[rehearsal.state] ?? 3;
      }
      const line = formatServerMessage(rehearsal.message);
      if (line !== shown) stdout.write(joinLines([line]));
      shown = line;
    } else if (now() - seenAt > missingMs) {
      if (response.kind !== 'ok') throw createRequestFailedError(response, session);
      throw createLostError();
    }
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}

const createLostError = () =>
  new CommandFailedError(
    1,
    `The server has no record of the rehearsal. To check: ${getProductNames().name} instance status`,
  );
