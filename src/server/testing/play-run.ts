import { setTimeout as sleep } from 'node:timers/promises';
import type { ProgressEvent } from '../../core/progress/event.ts';
import { formatEnd } from '../../core/progress/run-result.ts';
import { isGoodEnd, type PhaseWord } from '../../wire/codes.ts';
import { isTooLate } from '../../wire/phase-rows.ts';
import { isLaunchState, type RunRecord } from '../run/run-record.ts';
import type { Disturbance, ScriptedEnd, ScriptedRun, ScriptedStep } from './script.ts';

/** What a run does to the play around it. */
interface Stage {
  speed: number;
  /** What the updater's container is called. */
  container: string;
  disturb(by: Disturbance | null): void;
  onLine(line: ProgressEvent): void;
}

/** Milliseconds after which it is asked again whether a step lasts. */
const glance = 20;

const absent: readonly (Disturbance | undefined)[] = ['closed', 'bad-gateway', 'silence'];

/** Plays a run to its end, or to that of the signal, which is the server's. It may be ended from outside, as by a cancel. */
export async function playRun(
  { steps, end }: ScriptedRun,
  record: RunRecord,
  stage: Stage,
  signal: AbortSignal,
): Promise<void> {
  let away = 0;
  for (const step of steps) {
    if (step.disturbed === undefined) stage.disturb(null);
    await playStep(step, record, stage, signal);
    if (record.hasEnded) break;
    if (absent.includes(step.disturbed)) away += step.seconds;
    // Until the containers are replaced, an updater that is asked to stop does so at its next step.
    if (record.run.cancelRequestedBy !== null && !isTooLate({ ...record.run, state: step.state })) {
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
  record.note({
    ...(away > 0 && { downtimeSeconds: away }),
    ...(point && { restorePoint: point }),
    ...(rolledBack && { rolledBack }),
  });
  finish(end, record, stage);
}

async function playStep(
  step: ScriptedStep,
  record: RunRecord,
  stage: Stage,
  signal: AbortSignal,
): Promise<void> {
  const { state, seconds, says = [state], jobs = [], until = null, disturbed } = step;
  for (const said of says) {
    const { message, percent, level = 'info' } = typeof said === 'string' ? { message: said } : said;
    if (isLaunchState(state)) {
      record.prepare(state, message, { percent: percent ?? null, jobs: [...jobs], until });
    } else {
      if (record.run.log === null) record.note({ log: `docker logs ${stage.container}` });
      say({ level, phase: state, message, ...(percent === undefined ? {} : { percent }) }, record, stage);
    }
    // An updater says what it does, then does it: who follows reads the line before the disturbance.
    if (disturbed !== undefined) stage.disturb(disturbed);
    await sleep((seconds * 1000) / says.length / stage.speed, undefined, { signal });
    if (record.hasEnded) return;
  }
  while (step.lasts?.() && !record.hasEnded) await sleep(glance, undefined, { signal });
}

/** Ends the run by a last line of its log, as updaters do; without a line where no updater was there to write it. */
function finish(end: ScriptedEnd, record: RunRecord, stage: Stage): void {
  const { from, to, phase } = record.run;
  const { outcome, cause = null, code = null, advice = null } = end;
  const isGood = isGoodEnd(outcome);
  const message =
    end.message ?? (isGood ? `${outcome} ${from} → ${to}` : `nothing was changed; ${from} is still running`);
  if (phase === null || outcome === 'crashed') {
    record.end({ outcome, message, detail: cause, code, advice });
    return;
  }
  if (cause !== null) say({ level: 'error', phase, message: cause }, record, stage);
  const line = isGood ? message : formatEnd({ outcome, code, message, advice });
  say({ level: isGood ? 'info' : 'error', phase: 'done', message: line }, record, stage);
}

function say(
  { level, phase, message, ...rest }: Omit<ProgressEvent, 'time' | 'phase'> & { phase: PhaseWord | 'done' },
  record: RunRecord,
  stage: Stage,
): void {
  const line = { time: new Date().toISOString(), level, phase, ...rest, message };
  record.add(line);
  stage.onLine(line);
}
