import { formatRestorePointNotice } from '../../presentation/present-status.ts';
import { isAdminStatus, type Problem } from '../../wire/api-client/parse-responses.ts';
import type { UpdateRequestBody } from '../../wire/api-client/update-api-client.ts';
import { findMissingSettingsReason } from '../../wire/derived/missing-settings.ts';
import type { Status } from '../../wire/status.ts';
import {
  type ClientCommand,
  type CommandContext,
  CommandUsageError,
} from '../command-line/client-command.ts';
import { requireAdminStatus, type Session } from '../connection/create-session.ts';
import { createClientTextsAndFormats } from '../output/client-texts-and-formats.ts';
import { formatUpgradePath } from '../output/status-lines.ts';
import { escapeResponseTexts } from '../output/text.ts';
import {
  chooseUpdateTarget,
  createNotStartedResult,
  createTargetOptions,
  type NotStartedResult,
  problemReasonOf,
} from '../start/choose-update-target.ts';
import { confirmStart } from '../start/confirm-start.ts';
import { promptForNewSettings } from '../start/prompt-for-new-settings.ts';
import {
  createStartOptions,
  createStartSession,
  printNotStartedResult,
  startAndFollowRun,
} from '../start/start-run.ts';

export const instanceUpdateCommand: ClientCommand = {
  name: 'instance update',
  summary: 'Update {product} and follow the update until the new version responds',
  options: {
    ...createTargetOptions('install'),
    'all-steps': { help: 'Install all releases on the upgrade path, one after the other' },
    ...createStartOptions(
      'update',
      'Do not ask for confirmation before installing a major version or stopping jobs',
    ),
  },
  examples: [
    ['{product} instance update', 'update to the offered version and follow the update'],
    ['{product} instance update --when-idle', 'update as soon as running jobs have finished'],
  ],
  run,
};

async function run(context: CommandContext): Promise<number> {
  const named = parseRequestedTarget(context);
  const session = createStartSession(context, 'update');
  const { reader, signal, tell } = session;
  const wish = { ...named, ...session.order };
  const ask = (refresh: boolean) => requireAdminStatus(reader.fetchStatus({ refresh, signal }), session);

  let status = await ask(false);
  // The server's list of releases may be minutes old, so let the server check again before reporting that there is no
  // update.
  if (wish.target === undefined && status.next === null && status.reason?.code !== 'update-running')
    status = await ask(true);
  const target = chooseUpdateTarget(status, wish);
  if (typeof target !== 'string') return printNotStartedResult(session, target);
  const steps = stepsTo(target, status, wish);
  const goal = status.next?.upgradePath.at(-1) ?? target;
  const t = createClientTextsAndFormats(status.now);
  if (steps.length > 1) tell(escapeResponseTexts(formatUpgradePath([status.version, ...steps], t)));
  else if (!wish.allSteps && target === status.next?.version && goal !== target)
    tell(
      escapeResponseTexts(
        `${target} must be installed before ${goal}. To continue to ${goal} automatically, use --all-steps.`,
      ),
    );
  const saved = formatRestorePointNotice(status, steps[0] ?? target, t);
  if (saved !== '') tell(escapeResponseTexts(saved));
  const { version, settings } = escapeResponseTexts(status.next) ?? {};
  const listed = (steps[0] === version && settings) || [];
  const given = await promptForNewSettings(context, listed);
  const missing = findMissingSettingsReason(version ?? target, listed, given);
  if (missing) return printNotStartedResult(session, createNotStartedResult(missing, status));
  if (
    !(await confirmStart(context, escapeResponseTexts(status), {
      force: !!wish.force,
      steps: escapeResponseTexts(steps),
    }))
  ) {
    tell('The update was not started.');
    return 3;
  }
  const order = {
    target,
    ...session.order,
    ...(wish.allSteps && target !== status.next?.version && { allSteps: wish.allSteps }),
    ...(Object.keys(given).length > 0 && { settings: given }),
  };
  return startAndFollowRun(session, {
    previousRunId: status.run?.id ?? null,
    sendStartRequest: () => reader.startUpdate(order, { signal }),
    createRefusalResult: (problem) => refusal(session, problem, status),
  });
}

/** @throws CommandUsageError for `--all-steps` with `--target canary` */
function parseRequestedTarget({ args: { options } }: CommandContext): Partial<UpdateRequestBody> {
  const { target } = options;
  const allSteps = options['all-steps'] === true;
  if (allSteps && target === 'canary')
    throw new CommandUsageError('--all-steps cannot be combined with --target canary.');
  return { ...(typeof target === 'string' && { target }), ...(allSteps && { allSteps }) };
}

/** Returns the releases to install, in order. A separate update installs each of them. */
function stepsTo(
  target: string,
  { next }: Status,
  { allSteps }: Partial<UpdateRequestBody>,
): readonly string[] {
  const at = allSteps && next ? next.upgradePath.indexOf(target) : -1;
  return next && at >= 0 ? next.upgradePath.slice(0, at + 1) : [target];
}

async function refusal(
  { reader, signal }: Session,
  problem: Problem,
  status: Status,
): Promise<NotStartedResult> {
  const reason = problemReasonOf(problem);
  if (reason.code !== 'update-running') return createNotStartedResult(reason, status, problem);
  // Another update has started since the status was read. A new status contains the run of that update.
  const response = await reader.fetchStatus({ signal });
  const current = response.kind === 'ok' && isAdminStatus(response.value) ? response.value : status;
  return createNotStartedResult(reason, current, problem);
}
