import type { OptionTable } from '../../core/command-line/option-row.ts';
import { isNewerVersion, isRequestableTarget } from '../../core/release/channel.ts';
import type { Problem } from '../../wire/api-client/parse-responses.ts';
import type { UpdateRequestBody } from '../../wire/api-client/update-api-client.ts';
import type { RunKind } from '../../wire/codes.ts';
import type { Reason, Status } from '../../wire/status.ts';
import { getProductNames } from '../command-line/product-names.ts';
import type { ClientCommandResult } from '../output/run-result-text.ts';
import { formatAvailableUpdate, formatBlockingReason } from '../output/status-lines.ts';
import { escapeResponseTexts } from '../output/text.ts';

/** Options that `update` and `rehearse` have in common. */
export const createTargetOptions = (verb: 'install' | 'rehearse'): OptionTable => ({
  target: {
    value: 'VERSION',
    form: [{ test: isRequestableTarget }, '"canary" or a version such as v1.5.0'],
    help: `Version to ${verb}, e.g. v1.5.0, or canary (default: the offered version)`,
  },
  set: {
    value: 'NAME[=VALUE]',
    isList: true,
    help: 'Value for a new setting; without =VALUE, {product} asks for it',
  },
});

/** Output and exit code of a command that has not started a run. */
export interface NotStartedResult extends ClientCommandResult {
  /** Problem document that `--json` prints; null if no problem document exists. */
  problem: Problem | null;
}

/**
 * Determines the target of an update, by default the available version. The start request names this version, so that
 * no newer release is installed instead.
 */
export function chooseUpdateTarget(
  status: Status,
  { target, when, force, allSteps }: Partial<UpdateRequestBody>,
): string | NotStartedResult {
  const { reason, next, run } = status;
  const { code, jobs = [] } = reason ?? {};
  const isPassed = jobs.length > 0 && (force || (when === 'idle' && !jobs.some(({ stuck }) => stuck)));
  if (reason !== null && !isPassed && code !== 'up-to-date') return createNotStartedResult(reason, status);
  // After these outcomes, the user may request the release of the failed run again, even if it is the running version.
  // The updater then verifies the containers.
  const isInTrouble = run?.outcome === 'broken' || run?.outcome === 'crashed';
  // Do not request this release again if a newer version is running, for example after a manual repair. A downgrade is
  // not possible.
  const isAgain = isInTrouble && run.to !== null && !isNewerVersion(status.version, run.to);
  const offered = (allSteps ? next?.upgradePath.at(-1) : null) ?? next?.version;
  const goal = target ?? offered ?? (isAgain ? run.to : null);
  if (goal !== null && (goal !== status.version || isInTrouble)) return goal;
  const lines =
    goal === null
      ? formatAvailableUpdate(escapeResponseTexts(status))
      : [`${getProductNames().name} ${goal} is already running.`];
  return { lines, problem: reason && problemOf(reason), exitCode: 0 };
}

export const createNotStartedResult = (
  reason: Reason,
  status: Status,
  problem = problemOf(reason),
  kind: RunKind = 'update',
): NotStartedResult => ({
  lines: formatBlockingReason(escapeResponseTexts(reason), escapeResponseTexts(status), kind),
  problem,
  exitCode: 3,
});

/** Uses `detail` if the problem document has no reason, because older servers and proxies send no reason. */
export const problemReasonOf = ({ reason, detail }: Problem): Reason =>
  reason ?? { code: 'rollback-refused', message: detail };

/** Creates the problem document that the server would send for a reason. */
const problemOf = (reason: Reason): Problem => ({
  type: 'about:blank',
  title: 'Conflict',
  status: 409,
  detail: reason.message,
  reason,
});
