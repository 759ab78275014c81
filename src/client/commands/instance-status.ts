import { isSuccessfulOrCancelledRun } from '../../presentation/present-result.ts';
import { createLatestUpdateRequest } from '../../presentation/present-status.ts';
import { isAdminStatus } from '../../wire/api-client/parse-responses.ts';
import { findRollbackableRun } from '../../wire/derived/rollbackable-run.ts';
import type { Run, Status } from '../../wire/status.ts';
import type { ClientCommand, CommandContext } from '../command-line/client-command.ts';
import { getProductNames } from '../command-line/product-names.ts';
import { createSession, requireResponseValue } from '../connection/create-session.ts';
import { createClientTextsAndFormats, formatDateTime } from '../output/client-texts-and-formats.ts';
import { formatRunResultSummary } from '../output/run-result-text.ts';
import { formatAvailableUpdate, formatBlockingReason, formatPendingStep } from '../output/status-lines.ts';
import { escapeResponseTexts, formatJsonLine, joinLines } from '../output/text.ts';

export const instanceStatusCommand: ClientCommand = {
  name: 'instance status',
  summary: 'Show the running version and the available update, and whether the update can start now',
  options: { json: { help: 'Print the status as one JSON document' } },
  examples: [
    ['{product} instance status', 'show the running version and the available update'],
    ['{product} instance status --json | jq -r .version', 'print only the running version, for scripts'],
  ],
  run,
};

async function run(context: CommandContext): Promise<number> {
  const session = createSession(context);
  const { args, reader, signal, stdout } = session;
  const told = await requireResponseValue(reader.fetchStatus({ signal }), session);
  if (args.options.json) {
    stdout.write(formatJsonLine(told));
    return 0;
  }
  if (isAdminStatus(told)) {
    // If the running version is recalled, a rollback may be the only remedy. The run to roll back may be older than the
    // last run, so request the history.
    const isRecalled = told.recalled !== null && told.next === null;
    const past = isRecalled ? await requireResponseValue(reader.fetchPastRuns({ signal }), session) : null;
    stdout.write(joinLines(statusLines(escapeResponseTexts(told), escapeResponseTexts(past))));
  } else {
    const { version, updating } = escapeResponseTexts(told);
    stdout.write(
      joinLines([`${getProductNames().name} ${version}`, ...(updating ? ['An update is in progress.'] : [])]),
    );
  }
  return 0;
}

function statusLines(status: Status, past: readonly Run[] | null): string[] {
  const { version, channel, run: last, reason, canUpdate, buildServers, now, pendingStep } = status;
  const { name } = getProductNames();
  const t = createClientTextsAndFormats(now);
  const lines = [`${name} ${version} (${channel})`, ...formatAvailableUpdate(status, past)];
  if (pendingStep !== null)
    lines.push(
      formatPendingStep(pendingStep, version, t.age(pendingStep.since)),
      `To follow the update: ${name} instance follow. To cancel it: ${name} instance cancel`,
    );
  // For `up-to-date`, `formatAvailableUpdate` has already explained that no update is available.
  else if (reason !== null && reason.code !== 'up-to-date')
    lines.push(...formatBlockingReason(reason, status));
  else if ((canUpdate && status.next !== null) || status.upToDate?.code === 'rolling-out')
    lines.push(
      `To update now: ${name} instance update${createLatestUpdateRequest(status).allSteps ? ' --all-steps' : ''}`,
    );
  if (last?.outcome && !isSuccessfulOrCancelledRun(last))
    lines.push(formatRunResultSummary(last, status, t.age(last.endedAt)), `Details: ${name} instance follow`);
  // Restore point that `instance rollback` would use.
  const point = findRollbackableRun(past ?? (last ? [last] : []))?.restorePoint;
  if (point)
    lines.push(
      `Restore point: ${point.version}, with the data saved at ${formatDateTime(point.at)}. To roll back: ${name} instance rollback`,
    );
  const servers = buildServers.map(
    ({ name, version, outdated }) => `${name} ${version}${outdated ? ' (outdated)' : ''}`,
  );
  return servers.length === 0 ? lines : [...lines, `Build servers: ${servers.join(', ')}`];
}
