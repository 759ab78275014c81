import { setTimeout as sleep } from 'node:timers/promises';
import { type LogLevel, type Phase, phases } from '../../../src/core/progress/event.ts';
import { formatEventLine, parseEventLine } from '../../../src/core/progress/log-line.ts';
import { formatLastLogLine } from '../../../src/core/progress/run-result.ts';
import type { ContainerDouble } from './container-double.ts';

/** The next action of an updater. */
export type Step =
  /** A raw line, or a line of the protocol. */
  | { say: string | Saying }
  | { pause: number }
  /** Continues when the promise is settled. */
  | { until: Promise<unknown> }
  | { exit: number };

export type Script = readonly Step[];

export interface Saying {
  phase: Phase;
  message: string;
  level?: LogLevel;
  percent?: number;
  time?: Date;
}

/** A line of the protocol, with the current time. */
export const lineOf = ({ level = 'info', time = new Date(), ...rest }: Saying): string =>
  formatEventLine({ ...rest, level, time: time.toISOString() });

/** Executes the steps in order while the container is in the same run. */
export async function play(script: Script, container: ContainerDouble, lives: () => boolean): Promise<void> {
  for (const step of script) {
    if ('pause' in step) await sleep(step.pause);
    if ('until' in step) await step.until;
    if (!lives()) return;
    if ('say' in step) container.say(typeof step.say === 'string' ? step.say : lineOf(step.say));
    if ('exit' in step) container.exit(step.exit);
  }
}

const said = (phase: Phase, message: string, percent?: number): Step => ({
  say: { phase, message, ...(percent !== undefined && { percent }) },
});

/** The output of a successful updater without its last line. */
export const workOf = (from: string, to: string): Script => [
  said('inspect', 'svc-updater 1.0.0, engine 26.1.5, compose 2.40.3; project svc in /srv/svc'),
  said(
    'inspect',
    `app and worker run ${from}, pinned by SVC_VERSION in .env line 7; compose.yaml is user-written`,
  ),
  said(
    'plan',
    `${from} → ${to}: change SVC_VERSION in .env line 7 to ${to}, recreate app and worker; db is not updated`,
  ),
  said('pull', `42.1 MB of 98.7 MB of acme/svc:${to}`, 42),
  said('pull', `pulled acme/svc:${to}`, 100),
  said('write', `.env line 7: ${from} → ${to} (backup in .svc-updater/backup/20261121T103451Z/.env)`),
  said('recreate', 'stopping worker, then replacing app and worker'),
  said('verify', `app healthy after 0.9 s, worker healthy after 0.5 s; app and worker run ${to}`),
];

/** The output of a successful updater. */
export const goodRun = (from: string, to: string): Script => [
  ...workOf(from, to),
  said('done', `updated ${from} → ${to} in 4 s`),
  { exit: 0 },
];

/** A run with another outcome, after the given steps. */
export const badRun = (before: Script, outcome: 'refused' | 'failed' | 'broken', code: string): Script => {
  const state =
    outcome === 'broken'
      ? 'the new version does not become healthy'
      : 'nothing was changed; v1.4.2 is still running';
  const message = formatLastLogLine({ outcome, code, message: state, advice: 'See the lines above.' });
  const exit = { refused: 3, failed: 4, broken: 5 }[outcome];
  return [...before, { say: { phase: 'done', level: 'error', message } }, { exit }];
};

/**
 * Handles a signal like the real updater: exits if nothing is changed yet, and otherwise prints that it is too late.
 */
export function onSignal(container: ContainerDouble, signal: string): void {
  if (signal !== 'SIGTERM' && signal !== 'SIGINT') return;
  const phase = container.log
    .map(({ text }) => parseEventLine(text))
    .findLast((event) => event !== null)?.phase;
  if (phase === 'done') return;
  if (phase !== undefined && phases.indexOf(phase) >= phases.indexOf('recreate')) {
    const message = `${signal} was received too late: containers are already being replaced, so the update continues`;
    container.say(lineOf({ phase, level: 'warn', message }));
    return;
  }
  const from = container.spec.Labels?.['svc-updater.from'];
  const state = from ? `nothing was changed; ${from} is still running` : 'nothing was changed';
  const advice = 'Run the update again when you are ready.';
  const message = formatLastLogLine({ outcome: 'cancelled', code: null, message: state, advice });
  container.say(lineOf({ phase: 'done', level: 'warn', message }));
  container.exit(signal === 'SIGTERM' ? 143 : 130);
}
