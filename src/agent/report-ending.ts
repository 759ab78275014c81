import { Cancelled } from '../progress/cancelled.ts';
import { UpdateError } from '../progress/update-error.ts';
import type { Log } from './log.ts';

/** What is known of the instance by the time a run ends. */
export interface Known {
  /** `v1.4.2`, once it has been found. */
  version: string | null;
  project: string | null;
  services: readonly string[];
  /** `-f` and `--env-file` as they have to be typed in the compose directory, where compose would not find the files. */
  fileFlags?: readonly string[];
}

/** The end of a run that did not do what was asked: why, what state the instance is in, and what to type next. */
export function reportEnding(error: unknown, log: Log, known: Known): void {
  const { phase } = log;
  const touched = phase === 'recreate' || phase === 'verify' || phase === 'done';
  if (error instanceof Cancelled) {
    log.phase = 'done';
    log.warn(`cancelled: ${nothingChanged(known)}. Run the update again when it suits.`, {
      outcome: 'cancelled',
    });
    return;
  }
  if (!(error instanceof UpdateError)) {
    log.error(error instanceof Error ? (error.stack ?? error.message) : String(error));
    log.phase = 'done';
    const state = touched
      ? 'containers may be half replaced: see docker compose ps'
      : 'no container was touched and the files are as they were';
    log.error(`crashed: a bug in the updater; ${state}. Please report the lines above.`, {
      outcome: 'crashed',
    });
    return;
  }
  for (const line of error.detail) log.error(line);
  if (!error.told) log.error(error.message + sentenceOfCause(error));
  log.phase = 'done';
  const advice =
    error.code === 'broken' || error.code === 'not-brought-back'
      ? adviceWhenBroken(known, error.advice)
      : error.advice;
  log.error(`${error.outcome}: ${stateAfter(error, touched, known)}. ${advice}`, {
    outcome: error.outcome,
    code: error.code,
  });
}

const sentenceOfCause = (error: UpdateError): string => {
  const code = (error.cause as NodeJS.ErrnoException | undefined)?.code;
  return typeof code === 'string' && /^E[A-Z]+$/.test(code) && !error.message.includes(code)
    ? ` (${code})`
    : '';
};

function stateAfter({ code, outcome }: UpdateError, touched: boolean, known: Known): string {
  if (code === 'files-not-back') return 'the files are not as they were';
  if (code === 'not-brought-back') {
    return `the files are as they were, but ${running(known)} could not be brought back; nothing of the new version has started`;
  }
  if (outcome === 'broken') {
    return 'the new version has started and is not well; nothing was put back, as its migrations may have run';
  }
  if (touched) return `the files are as they were and ${running(known)} runs again`;
  return nothingChanged(known);
}

/** A run that ends early does not know yet what runs, and `bump` never does. */
const nothingChanged = ({ version }: Known): string =>
  version === null ? 'nothing was changed' : `nothing was changed, ${version} runs on`;

const running = ({ version }: Known): string => version ?? 'the old version';

/** What to type in the compose directory for compose to see the project as it was started. */
export const composeCommand = ({ project, fileFlags = [] }: Known): string =>
  ['docker compose', ...(project ? [`-p ${project}`] : []), ...fileFlags].join(' ');

function adviceWhenBroken(known: Known, otherwise: string): string {
  if (!known.project) return otherwise;
  const compose = `docker compose -p ${known.project}`;
  const names = known.services.join(' ');
  return `See ${compose} ps and ${compose} logs ${names}; mend the cause, then run the update again, or: ${composeCommand(known)} up -d --no-deps ${names}, from the compose directory.`;
}
