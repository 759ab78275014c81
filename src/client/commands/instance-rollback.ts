import { presentRollback } from '../../presentation/present-rollback.ts';
import type { Problem } from '../../wire/api-client/parse-responses.ts';
import type { RequestResult } from '../../wire/api-client/request-result.ts';
import type { RollbackOffer, Status } from '../../wire/status.ts';
import {
  type ClientCommand,
  type CommandContext,
  CommandUsageError,
} from '../command-line/client-command.ts';
import { requireAdminStatus, requireResponseValue } from '../connection/create-session.ts';
import { createClientTextsAndFormats, formatDateTime } from '../output/client-texts-and-formats.ts';
import { formatPresentationParts } from '../output/status-lines.ts';
import { escapeResponseTexts, formatJsonLine } from '../output/text.ts';
import { createNotStartedResult, problemReasonOf } from '../start/choose-update-target.ts';
import { confirmStoppingJobs, promptForInput, promptYesNo } from '../start/confirm-start.ts';
import {
  createStartOptions,
  createStartSession,
  printNotStartedResult,
  type StartSession,
  startAndFollowRun,
} from '../start/start-run.ts';

export const instanceRollbackCommand: ClientCommand = {
  name: 'instance rollback',
  summary: 'Roll back the last update: restore the previous version and its data',
  options: createStartOptions('rollback', 'Roll back without asking for confirmation'),
  examples: [
    [
      '{product} instance rollback',
      'show the effects of the rollback, ask twice for confirmation, then roll back',
    ],
    ['{product} instance rollback --yes --json', 'roll back without confirmation, for scripts'],
  ],
  run,
};

async function run(context: CommandContext): Promise<number> {
  const session = createStartSession(context, 'rollback');
  const { reader, signal, stdout, tell, json } = session;
  const status = await requireAdminStatus(reader.fetchStatus({ signal }), session);
  const refusal = (problem: Problem) =>
    createNotStartedResult(problemReasonOf(problem), status, problem, 'rollback');
  tell('Checking the restore point…');
  const told = await reader.fetchRollbackOffer({ signal });
  const problem = refusalProblemOf(told);
  if (problem !== null) return printNotStartedResult(session, refusal(problem));
  const offer = await requireResponseValue(Promise.resolve(told), session);
  if (json) stdout.write(formatJsonLine({ event: 'rollback', data: offer }));
  const { from, to, at, ...more } = escapeResponseTexts(offer);
  const t = createClientTextsAndFormats(status.now);
  const { parts } = presentRollback({ from, to, at, ...more }, { version: status.version, jobs: [] }, t);
  tell(`Roll back from ${from ?? status.version} to ${to}, with the data saved at ${formatDateTime(at)}`);
  tell(...formatPresentationParts(parts, t));
  if (!(await confirmTwice(session, escapeResponseTexts(offer), escapeResponseTexts(status)))) {
    tell('The rollback was not started.');
    return 3;
  }
  const ask = () => reader.startRollback({ confirm: offer.to, ...session.order }, { signal });
  return startAndFollowRun(session, {
    previousRunId: status.run?.id ?? null,
    sendStartRequest: ask,
    createRefusalResult: refusal,
  });
}

/** Problem document of a refused request; null for any other response. */
const refusalProblemOf = (response: RequestResult<RollbackOffer>): Problem | null =>
  response.kind === 'problem' && [404, 409, 429, 503].includes(response.problem.status)
    ? response.problem
    : null;

/**
 * Prompts for confirmation and then for the version, so that no rollback is started by mistake.
 * @throws CommandUsageError without a terminal and without `--yes`
 */
async function confirmTwice(session: StartSession, { to }: RollbackOffer, status: Status): Promise<boolean> {
  if (session.args.options.yes) return true;
  if (!session.canPrompt)
    throw new CommandUsageError(
      'A rollback replaces the current data. Without a terminal, confirm with --yes.',
    );
  if (session.order.force && !(await confirmStoppingJobs(session, status))) return false;
  if (!(await promptYesNo('Roll back?', session))) return false;
  return (await promptForInput(`Type ${to} to roll back: `, session)).trim() === to;
}
