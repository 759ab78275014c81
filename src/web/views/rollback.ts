import { h } from '../elements/vnode.ts';
import { clockText } from '../model/ages.ts';
import type { RollbackView, ViewOf } from '../model/dialog-view.ts';
import { texts } from '../texts.ts';
import {
  box,
  bulletList,
  button,
  type Content,
  type DialogContext,
  highlighted,
  lead,
  muted,
} from './components.ts';
import { durationOfSeconds, joined, moment, sentence, sentences } from './format.ts';
import { interruptedJobs, jobList } from './offer.ts';

export function renderRollbackAsking(
  { to, asked }: ViewOf<'rollback-asking'>,
  context: DialogContext,
): Content {
  const t = texts();
  const heading = t.checkingRestorePoint;
  return {
    title: t.headingRollback(t.product),
    announcement: heading,
    ticks: true,
    body: [lead(heading, joined(t.checkingRestorePointAbout(to), clockText(asked)))],
    actions: [button('close', t.close, context.close)],
  };
}

export function renderRollback(view: RollbackView, context: DialogContext): Content {
  const t = texts();
  const { offer, version, jobs } = view;
  const { to, at, since = at } = offer;
  const title = t.headingRollback(t.product);
  const heading = t.restorePointOf(to, moment(at, context.now));
  const top = lead(highlighted(heading, to), version === null ? null : t.youAreRunning(version));
  const replaced = t.willBeReplaced(moment(since, context.now));
  const warning = box('warn', replaced, h('span', t.currentSaved));
  if (context.local.isConfirming) {
    const interrupted = interruptedJobs(jobs);
    const force = interrupted.length > 0 && ({ force: true } as const);
    return {
      title,
      announcement: joined(replaced, ...(force ? [t.willBeInterrupted, ...interrupted] : [])),
      isUrgent: true,
      body: [
        top,
        box('bad', replaced, h('span', t.currentSaved)),
        force && box('bad', t.willBeInterrupted, bulletList(interrupted)),
      ],
      actions: [
        button('stay', t.cancel, () => context.set({ isConfirming: false })),
        button('go', t.rollBackTo(to), () => context.rollback({ confirm: to, ...force }), 'quiet danger end'),
      ],
    };
  }
  return {
    title,
    announcement: joined(heading, replaced),
    body: [
      top,
      warning,
      muted(
        sentences(
          offer.downtimeSeconds === null
            ? t.allUnavailable(t.product)
            : t.allUnavailableAbout(t.product, durationOfSeconds(offer.downtimeSeconds)),
          t.newJobsRunLater,
        ),
      ),
    ],
    actions: [
      button('rollback', t.rollBack, () => context.set({ isConfirming: true }), 'primary'),
      button('close', t.close, context.close, 'quiet end'),
    ],
  };
}

export function renderRollbackRefused(
  { to, problem, jobs }: ViewOf<'rollback-refused'>,
  context: DialogContext,
): Content {
  const t = texts();
  const heading = t.cannotRollBack(t.product, to);
  const { refusal, advice, message } = (problem?.reason ?? {}) as { [key: string]: string | undefined };
  const why = problem === null ? t.connectionLost : sentence(message ?? problem.detail);
  return {
    title: t.headingRollback(t.product),
    announcement: `${heading}. ${why}`,
    isUrgent: true,
    body: [
      lead(heading),
      box('bad', why, h('span.mono', refusal ?? (problem && t.httpStatus(problem.status)))),
      jobList(jobs),
      advice && h('p', h('b', t.next), ' ', advice),
    ],
    actions: [
      button('again', t.checkAgain, () => context.askRollback(to), 'primary'),
      button('close', t.close, context.close, 'quiet end'),
    ],
  };
}
