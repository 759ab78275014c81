import type { Problem } from '../wire/api-client/parse-responses.ts';
import type { BlockingJob, Reason, RollbackOffer } from '../wire/status.ts';
import { formatRunningJobs, presentJob } from './present-status.ts';
import { createButton, createMessageBox, createMutedText, type Presentation } from './presentation-parts.ts';
import { joinFacts, type TextsAndFormats } from './texts-and-formats.ts';

/**
 * Presents the rollback that the user is asked to confirm.
 * @param jobs - jobs of the application; the rollback interrupts all except queued jobs
 */
export function presentRollback(
  { to, at, since = at, downtimeSeconds }: RollbackOffer,
  { version, jobs }: { version: string | null; jobs: readonly BlockingJob[] },
  t: TextsAndFormats,
): Presentation {
  const heading = t.restorePointOf(to, t.moment(at));
  const replaced = t.willBeReplaced(t.moment(since));
  const interrupted = formatRunningJobs(jobs, t);
  const isForced = interrupted.length > 0;
  const order = { confirm: to, ...(isForced && { force: true as const }) };
  return {
    kind: 'rollback',
    title: t.headingRollback(t.product),
    heading,
    highlight: to,
    about: version && t.youAreRunning(version),
    announcement: joinFacts(heading, replaced),
    parts: [
      createMessageBox('warn', replaced, [t.currentSaved]),
      createMutedText(
        downtimeSeconds === null
          ? t.allUnavailable(t.product)
          : t.allUnavailableAbout(t.product, t.seconds(downtimeSeconds)),
      ),
    ],
    actions: [
      createButton('rollback', t.rollBack, { kind: 'confirm', isConfirming: true }, 'primary'),
      createButton('close', t.close, { kind: 'close' }, 'quiet end'),
    ],
    confirmation: {
      announcement: joinFacts(replaced, ...(isForced ? [t.willBeInterrupted, ...interrupted] : [])),
      isUrgent: true,
      parts: [
        createMessageBox('bad', replaced, [t.currentSaved]),
        isForced && createMessageBox('bad', t.willBeInterrupted, interrupted),
      ],
      actions: [
        createButton('stay', t.cancel, { kind: 'confirm', isConfirming: false }),
        createButton('go', t.rollBackTo(to), { kind: 'rollback', order }, 'quiet danger end'),
      ],
    },
  };
}

/**
 * Presents a rollback that could not be checked or started.
 * @param problem - the error response; null if the connection was lost
 */
export function presentRejectedRollback(
  to: string,
  problem: Problem | null,
  t: TextsAndFormats,
): Presentation {
  const heading = t.cannotRollBack(t.product, to);
  const { refusal, advice, message, jobs = [] } = (problem?.reason ?? {}) as Partial<Reason>;
  const why = problem === null ? t.connectionLost : t.sentence(message ?? problem.detail);
  return {
    kind: 'rollback-refused',
    title: t.headingRollback(t.product),
    heading,
    announcement: `${heading}. ${why}`,
    isUrgent: true,
    parts: [
      createMessageBox('bad', why, [], { code: refusal ?? (problem && t.httpStatus(problem.status)) }),
      { kind: 'jobs', jobs: jobs.map((job) => presentJob(job, t)) },
      advice && { kind: 'advice', text: advice },
    ],
    actions: [
      createButton('again', t.checkAgain, { kind: 'check-rollback', to }, 'primary'),
      createButton('close', t.close, { kind: 'close' }, 'quiet end'),
    ],
  };
}
