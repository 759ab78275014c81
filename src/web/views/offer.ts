import type { Status } from '../../wire/status.ts';
import { type Child, h, type VNode } from '../elements/vnode.ts';
import type { JobAge, OfferView, ViewOf } from '../model/dialog-view.ts';
import { orderOf } from '../model/selectors.ts';
import { codeText, texts } from '../texts.ts';
import { byItselfText, keptBackText } from './automatic.ts';
import {
  box,
  bulletList,
  button,
  type Content,
  checkAgain,
  commandList,
  type DialogContext,
  externalLink,
  highlighted,
  lead,
  muted,
} from './components.ts';
import { age, channelName, fromTo, joined, seconds, sentence, sentences } from './format.ts';
import { notesNodes } from './notes.ts';
import { stationList } from './stations.ts';

export function renderOffer(view: OfferView, context: DialogContext): Content {
  const t = texts();
  const { status, to, before, path, major } = view;
  const goal = path.at(-1) ?? to;
  const offered = before ?? goal;
  const heading = t.available(offered);
  const about = joined(
    t.youRun(status.version),
    major ? t.newMajor : channelName(status.channel),
    view.published !== null && t.publishedAgo(age(view.published)),
  );
  const away =
    view.lastAway === null ? t.awayFew(t.product) : t.awayAsLast(t.product, seconds(view.lastAway));
  const whole = status.next?.estimatedSeconds ?? null;
  const takes = status.restorePoint
    ? sentences(whole !== null && t.itTakes(seconds(whole)), unavailableText(status.restorePoint))
    : whole !== null && whole < 60 && view.lastAway !== null
      ? t.itTakesAway(t.product, seconds(whole), Math.max(1, Math.round(view.lastAway)))
      : sentences(whole !== null && t.itTakes(seconds(whole)), away);
  const preparation = status.preparation === null ? null : sentence(status.preparation);
  const saved = savedText(status, to);
  const label = before === null && path.length === 0 ? t.updateNow : t.updateTo(goal);
  const byItself = byItselfText(status, context.now);
  const notes = externalLink(view.url, t.releaseNotes, 'end');
  if (view.skipped !== null) {
    const since = view.skipped.age === null ? '' : age(view.skipped.age);
    return {
      announcement: heading,
      body: [lead(highlighted(heading, offered), about), muted(t.youSkip(offered, since))],
      actions: [button('unskip', t.offerAgain, () => context.skip(null), 'primary'), notes],
    };
  }
  return {
    announcement: heading,
    body: [
      lead(highlighted(heading, offered), about),
      path.length > 0 && [
        stationList([status.version, ...path], 1, false),
        muted(`${t.pathOf(path.length)}. ${t.awayEach(t.product)}`),
      ],
      before !== null && box('warn', t.needsFirst(before, to), h('span', t.needsFirstAbout)),
      major && box('warn', t.onlyForward, dumpNode(sentences(preparation, saved), context)),
      notesNodes(view.releases, context),
      muted(
        sentences(
          !major && preparation,
          !major && saved,
          fetchedText(status),
          !path.length && takes,
          t.jobsWait,
        ),
      ),
      byItself && muted(byItself),
    ],
    actions: [
      button('start', label, () => context.start(orderOf(status)), 'primary'),
      // What has to come first cannot be skipped.
      before === null && button('skip', t.skipThis, () => context.skip(goal), 'quiet'),
      notes,
    ],
  };
}

/** Whether the images are here. */
function fetchedText({ next, prefetch }: Status): string | false {
  const t = texts();
  return next?.downloaded
    ? t.downloaded
    : prefetch?.state === 'downloading' && t.beingDownloaded(prefetch.percent);
}

/** That the update saves the data first. */
function savedText({ restorePoint, version }: Status, to: string): string | null {
  const t = texts();
  return restorePoint && t.dataSaved(t.product, to, version);
}

/** That the data services are stopped, too, and for how long the last time. */
function unavailableText({ downtimeSeconds: last }: NonNullable<Status['restorePoint']>): string {
  const t = texts();
  return last === null ? t.allUnavailable(t.product) : t.allUnavailableAsLast(t.product, seconds(last));
}

function dumpNode(before: string, { dumpUrl }: DialogContext): VNode {
  const t = texts();
  if (before !== '') return h('span', before);
  return h('span', t.takeDump, dumpUrl !== null && [' ', h('a', { href: dumpUrl }, t.howToDump)]);
}

export function renderJobs(
  { jobs, isStuck, status, order }: ViewOf<'jobs'>,
  context: DialogContext,
): Content {
  const t = texts();
  const top = [lead(t.inTheWay(jobs.length), fromTo(status.version, order.target)), jobList(jobs)];
  if (context.local.isConfirming) {
    const cut = cutShort(jobs);
    return {
      announcement: `${t.willCut} ${cut.join(', ')}`,
      ticks: true,
      body: [...top, box('bad', t.willCut, bulletList(cut))],
      actions: [
        button('back', t.back, () => context.set({ isConfirming: false })),
        button('force', t.cutShort, () => context.start({ ...order, force: true }), 'quiet danger end'),
      ],
    };
  }
  const whenIdle = () => context.start({ ...order, when: 'idle' });
  return {
    announcement: t.inTheWay(jobs.length),
    ticks: true,
    body: [...top, muted(isStuck ? t.isStuck : t.canWait(t.product))],
    actions: [
      !isStuck && button('idle', t.updateWhenIdle, whenIdle, 'primary'),
      checkAgain(context, isStuck ? 'primary' : ''),
      button('anyway', t.updateAnyway, () => context.set({ isConfirming: true }), 'quiet danger end'),
    ],
  };
}

const kindName = (kind: string): string => codeText(texts().jobKinds, kind, kind);
const jobName = ({ kind, title }: JobAge): string =>
  title === null ? kindName(kind) : `${kindName(kind)} ${title}`;

/** A queued job is not cut short but runs afterwards. One in a state that this page does not know counts as running. */
export const cutShort = (jobs: readonly JobAge[]): string[] =>
  jobs.filter(({ state }) => state !== 'queued').map(jobName);

export const jobList = (jobs: readonly JobAge[]): Child =>
  jobs.length > 0 &&
  h(
    'ul',
    { key: 'jobs', class: 'jobs' },
    ...jobs.map((job) =>
      h(
        'li',
        h('span.kind', kindName(job.kind)),
        h('span', job.title ?? ''),
        h('span', { class: job.stuck ? 't stuck' : 't' }, jobTime(job)),
      ),
    ),
  );

function jobTime({ state, stuck, age: since }: JobAge): string | null {
  const t = texts();
  const time = since === null ? null : age(since);
  if (stuck) return time === null ? t.stuck : t.stuckFor(time);
  return state === 'queued' ? t.queued : time;
}

export function renderNothing(
  { status, checked, nextCheck }: ViewOf<'nothing'>,
  context: DialogContext,
): Content {
  const t = texts();
  const { upToDate, feedError, version, channel, automatic } = status;
  const why = upToDate ? codeText(t.upToDate, upToDate.code, upToDate.message) : t.nothingNewer;
  const paused = automatic && keptBackText(automatic, context.now);
  const next = nextCheck !== null && t.nextTry(age(nextCheck));
  return {
    announcement: why,
    body: [
      lead(t.versionRuns(version), channelName(channel)),
      h('p', sentences(sentence(why), checked !== null && t.checkedAgo(age(checked)))),
      paused && muted(paused),
      feedError && box('warn', t.lastCheckFailed, h('span', sentences(sentence(feedError.message), next))),
    ],
    actions: [checkAgain(context, 'primary')],
  };
}

export function renderNotPossible(
  { status, reason }: ViewOf<'not-possible'>,
  context: DialogContext,
): Content {
  const t = texts();
  const why = sentence(codeText(t.reasons, reason.code, reason.message));
  return {
    announcement: `${t.notPossible}. ${why}`,
    body: [
      lead(t.notPossible, why),
      status.manual.length > 0 && [h('p', t.byHand), commandList(status.manual, context)],
    ],
    actions: [checkAgain(context)],
  };
}

/** Another update is on, or a newer server has a reason that this page does not know. */
export function renderReason(view: ViewOf<'other-update' | 'other-reason'>, context: DialogContext): Content {
  const t = texts();
  const why = sentence(codeText(t.reasons, view.reason.code, view.reason.message));
  const heading = view.kind === 'other-update' ? t.otherUpdate : t.notPossible;
  const since = view.kind === 'other-update' && view.since !== null ? t.ago(age(view.since)) : null;
  return {
    announcement: `${heading}. ${why}`,
    ticks: since !== null,
    body: [lead(heading, since), h('p', why)],
    actions: [checkAgain(context, 'primary')],
  };
}
