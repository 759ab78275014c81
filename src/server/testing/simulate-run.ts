import { setTimeout as sleep } from 'node:timers/promises';
import type { ProgressEvent } from '../../core/progress/event.ts';
import { formatLastLogLine } from '../../core/progress/run-result.ts';
import { isSuccessfulOutcome, type PhaseName } from '../../wire/codes.ts';
import { isTooLateToCancel } from '../../wire/derived/phase-rows.ts';
import { isLaunchState, type RunRecord } from '../run/run-record.ts';
import type { Disturbance, ScriptedEnd, ScriptedRun, ScriptedStep } from './script.ts';

interface SimulationContext {
  speed: number;
  /** Name of the updater's container. */
  container: string;
  disturb(by: Disturbance | null): void;
  onLine(line: ProgressEvent): void;
}

/** Interval in ms between checks whether a step is over. */
const pollIntervalMs = 20;

const downtimeDisturbances: readonly (Disturbance | undefined)[] = ['closed', 'bad-gateway', 'silence'];

/**
 * Simulates a run until it ends, or until the signal is aborted because the server stops. Other code may end the run,
 * for example by a cancellation.
 */
export async function simulateRun(
  { steps, end }: ScriptedRun,
  record: RunRecord,
  stage: SimulationContext,
  signal: AbortSignal,
): Promise<void> {
  let away = 0;
  for (const step of steps) {
    if (step.disturbed === undefined) stage.disturb(null);
    await playStep(step, record, stage, signal);
    if (record.hasEnded) break;
    if (downtimeDisturbances.includes(step.disturbed)) away += step.seconds;
    // A run can be cancelled until its updater replaces the containers. A cancelled updater stops before its next step.
    if (record.run.cancelRequestedBy !== null && !isTooLateToCancel({ ...record.run, state: step.state })) {
      finish(
        { outcome: 'cancelled', message: `nothing was changed; ${record.run.from} is still running` },
        record,
        stage,
      );
    }
    if (record.hasEnded) break;
  }
  stage.disturb(null);
  if (record.hasEnded) return;
  const { point, rolledBack } = end;
  record.setFields({
    ...(away > 0 && { downtimeSeconds: away }),
    ...(point && { restorePoint: point }),
    ...(rolledBack && { rolledBack }),
  });
  finish(end, record, stage);
}

async function playStep(
  step: ScriptedStep,
  record: RunRecord,
  stage: SimulationContext,
  signal: AbortSignal,
): Promise<void> {
  const { state, seconds, says = [state], jobs = [], until = null, disturbed } = step;
  for (const given of says) {
    const { message, percent, level = 'info' } = typeof given === 'string' ? { message: given } : given;
    if (isLaunchState(state)) {
      record.setLaunchState(state, message, { percent: percent ?? null, jobs: [...jobs], until });
    } else {
      if (record.run.log === null) record.setFields({ log: `docker logs ${stage.container}` });
      say({ level, phase: state, message, ...(percent === undefined ? {} : { percent }) }, record, stage);
    }
    // An updater logs a line before each action, so a client receives the line before the disturbance.
    if (disturbed !== undefined) stage.disturb(disturbed);
    await sleep((seconds * 1000) / says.length / stage.speed, undefined, { signal });
    if (record.hasEnded) return;
  }
  while (step.lasts?.() && !record.hasEnded) await sleep(pollIntervalMs, undefined, { signal });
}

/** Ends the run with a last log line, as an updater does. If no updater is running, adds no line. */
function finish(end: ScriptedEnd, record: RunRecord, stage: SimulationContext): void {
  const { from, to, phase } = record.run;
  const { outcome, cause = null, code = null, advice = null } = end;
  const isGood = isSuccessfulOutcome(outcome);
  const message =
    end.message ?? (isGood ? `${outcome} ${from} → ${to}` : `nothing was changed; ${from} is still running`);
  if (phase === null || outcome === 'crashed') {
    record.end({ outcome, message, detail: cause, code, advice });
    return;
  }
  if (cause !== null) say({ level: 'error', phase, message: cause }, record, stage);
  const line = isGood ? message : formatLastLogLine({ outcome, code, message, advice });
  say({ level: isGood ? 'info' : 'error', phase: 'done', message: line }, record, stage);
}

function say(
  { level, phase, message, ...rest }: Omit<ProgressEvent, 'time' | 'phase'> & { phase: PhaseName | 'done' },
  record: RunRecord,
  stage: SimulationContext,
): void {
  const line = { time: new Date().toISOString(), level, phase, ...rest, message };
  record.add(line);
  stage.onLine(line);
}
