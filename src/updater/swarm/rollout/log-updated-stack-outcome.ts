import { replicaCountOf } from '../../../engine/swarm/swarm-service.ts';
import { logUpdatedOutcome } from '../../run/last-lines.ts';
import { joinWithAnd } from '../../run/log/format-values.ts';
import type { RunOutcome } from '../../run/log/run-outcome.ts';
import type { RunContext } from '../../run/run-context.ts';
import type { StackUpdatePlan } from '../plan/plan-stack.ts';
import { formatDeployCommand, formatImagesToChange } from '../plan/stack-files.ts';
import type { StackRecordData } from '../record/stack-record.ts';
import { shortServiceNameOf } from '../services/choose-stack.ts';

/** @param planned - null if the run has resumed a previous run */
export function logUpdatedStackOutcome(
  context: RunContext,
  data: Pick<StackRecordData, 'stack' | 'from' | 'to' | 'moves' | 'files'>,
  planned: StackUpdatePlan | null,
): RunOutcome {
  const { stack, from, to, moves } = data;
  const { files } = planned ?? {};
  const next =
    files && (files.needsEnvFile || files.reader === 'compose')
      ? `to deploy these files later, run ${formatDeployCommand(stack, files)}`
      : files || data.files.length > 0
        ? `to check it, run docker stack services ${stack}`
        : `the stack file still specifies ${from}: before the next deployment, change ${planned ? formatImagesToChange(planned) : 'the images'} in that file, or ${from} will start on migrated data`;
  const images = moves.map(({ image }) => image);
  const runs = formatServiceVersions({ stack, to, moves });
  return logUpdatedOutcome(context, { from, to, images }, { reached: to, next: `: ${runs}; ${next}` });
}

/** Omits services that run once, and services with 0 replicas unless all services have 0. */
export function formatServiceVersions({
  stack,
  to,
  moves,
}: Pick<StackRecordData, 'stack' | 'to' | 'moves'>): string {
  const lasting = moves.filter(({ role }) => role !== 'once');
  const on = lasting.filter(({ wanted }) => replicaCountOf(wanted) !== 0);
  const names = joinWithAnd((on.length > 0 ? on : lasting).map((move) => shortServiceNameOf(stack, move)));
  return on.length > 0
    ? `${names} run${on.length > 1 ? '' : 's'} ${to}`
    : `${names} will run ${to} when scaled up (0 replicas now)`;
}
