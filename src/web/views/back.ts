import type { BackOffer } from '../../wire/status.ts';
import { h } from '../elements/dom.ts';
import { clockText } from '../model/ages.ts';
import type { BackView, ViewOf } from '../model/dialog-view.ts';
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
import { age, joined, moment, seconds, sentence, sentences } from './format.ts';
import { cutShort, jobList } from './offer.ts';

export function renderBackAsking({ to, asked }: ViewOf<'back-asking'>, context: DialogContext): Content {
  const t = texts();
  const heading = t.askingBack(to);
  return {
    title: t.headingBack,
    announcement: heading,
    ticks: true,
    body: [lead(heading, joined(t.askingBackAbout, clockText(asked)))],
    actions: [button('close', t.close, context.close)],
  };
}

export function renderBack(view: BackView, context: DialogContext): Content {
  const t = texts();
  const { offer, version, jobs } = view;
  const { to, words } = offer;
  const at = moment(offer.at, context.now);
  const heading = t.backTo(to, at);
  const top = lead(highlighted(heading, to), version === null ? null : t.youRun(version));
  const lost = sentences(view.lost !== null && t.lostSince(age(view.lost)), differences(offer));
  if (context.local.isConfirming) {
    const cut = cutShort(jobs);
    const force = cut.length > 0 && ({ force: true } as const);
    const sure = t.sureBack(moment(offer.since ?? offer.at, context.now));
    return {
      title: t.headingBack,
      announcement: joined(sure, lost, ...(force ? [t.willCut, ...cut] : [])),
      isUrgent: true,
      body: [top, box('bad', sure, h('span', lost)), force && box('bad', t.willCut, bulletList(cut))],
      actions: [
        button('stay', t.cancel, () => context.set({ isConfirming: false })),
        button('go', t.goBackTo(to), () => context.goBack({ confirm: to, ...force }), 'quiet danger end'),
      ],
    };
  }
  return {
    title: t.headingBack,
    announcement: joined(heading, lost),
    body: [
      top,
      box('warn', t.isLost, h('span', lost), words.length > 0 && bulletList(words)),
      muted(
        sentences(
          t.presentKept(version ?? offer.from ?? ''),
          offer.seconds === null ? t.awayFew(t.product) : t.awayAbout(t.product, seconds(offer.seconds)),
          t.jobsWait,
        ),
      ),
    ],
    actions: [
      button('back', t.goBack, () => context.set({ isConfirming: true }), 'primary'),
      button('close', t.close, context.close, 'quiet end'),
    ],
  };
}

/** `214 rows in 6 tables, 12 files` */
function differences({ rows, tables, files }: BackOffer): string {
  const t = texts();
  if (rows === null && tables === null && files === null) return t.notCounted;
  const all = [(rows || tables) && t.rowsDiffer(rows ?? 0, tables ?? 0), files && t.filesDiffer(files)];
  return `${all.filter(Boolean).join(', ') || t.nothingDiffers}.`;
}

export function renderBackRefused(
  { to, problem, jobs }: ViewOf<'back-refused'>,
  context: DialogContext,
): Content {
  const t = texts();
  const heading = t.cannotGoBack(t.product, to);
  const { refusal, advice, message } = (problem?.reason ?? {}) as { [key: string]: string | undefined };
  const why = problem === null ? t.notStartedLost : sentence(message ?? problem.detail);
  return {
    title: t.headingBack,
    announcement: `${heading}. ${why}`,
    isUrgent: true,
    body: [
      lead(heading),
      box('bad', why, h('span.mono', refusal ?? (problem && t.status(problem.status)))),
      jobList(jobs),
      advice && h('p', h('b', t.next), ' ', advice),
    ],
    actions: [
      button('again', t.checkAgain, () => context.askBack(to), 'primary'),
      button('close', t.close, context.close, 'quiet end'),
    ],
  };
}
