import type { Status } from '../../wire/status.ts';
import { type Child, h, type VNode } from '../elements/vnode.ts';
import type { JobAge, OfferView, ViewOf } from '../model/dialog-view.ts';
import { orderOf } from '../model/selectors.ts';
import { codeText, texts } from '../texts.ts';
import { automaticUpdateText, notAutomaticText } from './automatic.ts';
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
  rollbackButton,
} from './components.ts';
import { age, channelName, durationOfSeconds, fromTo, joined, sentence, sentences } from './format.ts';
import { notesNodes } from './notes.ts';
import { settingFields } from './setting-fields.ts';
import { stationList } from './stations.ts';

export function renderOffer(view: OfferView, context: DialogContext): Content {
  const t = texts();
  const { status, to, before, path, major } = view;
  const goal = path.at(-1) ?? to;
  const offered = before ?? goal;
  const heading = t.available(offered);
  const about = joined(
    t.youAreRunning(status.version),
    major ? t.majorVersion : channelName(status.channel),
    view.published !== null && t.publishedAgo(age(view.published)),
  );
  const downtime =
    view.lastDowntime === null
      ? t.unavailableBriefly(t.product)
      : t.unavailableAsLast(t.product, durationOfSeconds(view.lastDowntime));
  const whole = status.next?.estimatedSeconds ?? null;
  const takes = status.restorePoint
    ? sentences(
        whole !== null && t.estimatedDuration(durationOfSeconds(whole)),
        unavailableText(status.restorePoint),
      )
    : whole !== null && whole < 60 && view.lastDowntime !== null
      ? t.estimatedDurationAndDowntime(
          durationOfSeconds(whole),
          durationOfSeconds(Math.max(1, view.lastDowntime)),
        )
      : sentences(whole !== null && t.estimatedDuration(durationOfSeconds(whole)), downtime);
  const preparation = status.preparation === null ? null : sentence(status.preparation);
  const saved = savedText(status, to);
  const label = before === null && path.length === 0 ? t.updateNow : t.updateTo(goal);
  const automatic = automaticUpdateText(status, context.now);
  const notes = externalLink(view.url, t.releaseNotes, 'end');
  if (view.skipped !== null) {
    const since = view.skipped.age === null ? '' : age(view.skipped.age);
    return {
      announcement: heading,
      body: [lead(highlighted(heading, offered), about), muted(t.youSkipped(offered, since))],
      actions: [button('unskip', t.offerAgain, () => context.skip(null), 'primary'), notes],
    };
  }
  return {
    announcement: heading,
    body: [
      lead(highlighted(heading, offered), about),
      path.length > 0 && [
        stationList([status.version, ...path], 1, false),
        muted(t.upgradePathAbout(t.product, path.length)),
      ],
      before !== null &&
        box('warn', t.intermediateRelease(before, to), h('span', t.intermediateReleaseAbout(before, to))),
      major && box('warn', t.majorWarning, dumpNode(sentences(preparation, saved), context)),
      notesNodes(view.releases, context),
      settingFields(status, context),
      muted(
        sentences(
          !major && preparation,
          !major && saved,
          downloadText(status),
          !path.length && takes,
          t.newJobsRunLater,
        ),
      ),
      automatic && muted(automatic),
    ],
    actions: [
      button('start', label, () => context.start(orderOf(status)), 'primary'),
      // A required intermediate release cannot be skipped.
      before === null && button('skip', t.skipThis, () => context.skip(goal), 'quiet'),
      notes,
    ],
  };
}

/** Whether the images have been downloaded. */
function downloadText({ next, prefetch }: Status): string | false {
  const t = texts();
  return next?.downloaded
    ? t.alreadyDownloaded
    : prefetch?.state === 'downloading' && t.downloading(prefetch.percent);
}

function savedText({ restorePoint, version }: Status, to: string): string | null {
  const t = texts();
  return restorePoint && t.dataSaved(t.product, to, version);
}

/** The data services are stopped too: the text includes how long that took last time. */
function unavailableText({ downtimeSeconds: last }: NonNullable<Status['restorePoint']>): string {
  const t = texts();
  return last === null
    ? t.allUnavailable(t.product)
    : t.allUnavailableAsLast(t.product, durationOfSeconds(last));
}

function dumpNode(before: string, { dumpUrl }: DialogContext): VNode {
  const t = texts();
  if (before !== '') return h('span', before);
  return h('span', t.backUpFirst, dumpUrl !== null && [' ', h('a', { href: dumpUrl }, t.howToBackUp)]);
}

export function renderJobs(
  { jobs, isStuck, status, order }: ViewOf<'jobs'>,
  context: DialogContext,
): Content {
  const t = texts();
  const heading = jobsHeading(jobs);
  const top = [lead(heading, fromTo(status.version, order.target)), jobList(jobs)];
  if (context.local.isConfirming) {
    const interrupted = interruptedJobs(jobs);
    return {
      announcement: `${t.willBeInterrupted} ${interrupted.join(', ')}`,
      ticks: true,
      body: [...top, box('bad', t.willBeInterrupted, bulletList(interrupted))],
      actions: [
        button('back', t.back, () => context.set({ isConfirming: false })),
        button(
          'force',
          t.interruptAndUpdate,
          () => context.start({ ...order, force: true }),
          'quiet danger end',
        ),
      ],
    };
  }
  const whenIdle = () => context.start({ ...order, when: 'idle' });
  return {
    announcement: heading,
    ticks: true,
    body: [
      ...top,
      settingFields(status, context),
      muted(isStuck ? t.stuckJobs : t.canWaitForJobs(t.product)),
    ],
    actions: [
      !isStuck && button('idle', t.updateWhenIdle, whenIdle, 'primary'),
      checkAgain(context, isStuck ? 'primary' : ''),
      button('anyway', t.updateAnyway, () => context.set({ isConfirming: true }), 'quiet danger end'),
    ],
  };
}

function jobsHeading(jobs: readonly JobAge[]): string {
  const t = texts();
  const queued = jobs.filter(({ state }) => state === 'queued').length;
  const running = jobs.length - queued;
  return joined(running > 0 && t.jobsRunning(running), queued > 0 && t.jobsQueued(queued));
}

const kindName = (kind: string): string => codeText(texts().jobKinds, kind, kind);
const jobName = ({ kind, title }: JobAge): string =>
  title === null ? kindName(kind) : `${kindName(kind)} ${title}`;

/** Queued jobs run afterwards. A job in a state unknown to this page counts as running. */
export const interruptedJobs = (jobs: readonly JobAge[]): string[] =>
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
  { status, checked, nextCheck, rollback }: ViewOf<'nothing'>,
  context: DialogContext,
): Content {
  const t = texts();
  const { upToDate, feedError, version, channel, automatic } = status;
  const why = upToDate ? codeText(t.upToDate, upToDate.code, upToDate.message) : t.noUpdateAvailable;
  const paused = automatic && notAutomaticText(automatic, context.now);
  const next = nextCheck !== null && t.nextAttempt(age(nextCheck));
  return {
    announcement: why,
    body: [
      lead(t.versionIsRunning(version), channelName(channel)),
      h('p', sentences(sentence(why), checked !== null && t.checkedAgo(age(checked)))),
      paused && muted(paused),
      rollback?.to === null && h('p', t.noWayBack),
      feedError &&
        !feedError.staleSince &&
        box('warn', t.lastCheckFailed, h('span', sentences(sentence(feedError.message), next))),
    ],
    actions: [
      rollback?.to && rollbackButton(rollback.to, context, 'primary'),
      checkAgain(context, rollback?.to ? '' : 'primary'),
    ],
  };
}

export function renderNotPossible(
  { status, reason }: ViewOf<'not-possible'>,
  context: DialogContext,
): Content {
  const t = texts();
  const heading = t.cannotUpdate(t.product);
  const why = sentence(codeText(t.reasons, reason.code, reason.message));
  return {
    announcement: `${heading}. ${why}`,
    body: [
      lead(heading, why),
      status.manual.length > 0 && [h('p', t.manualCommands), commandList(status.manual, context)],
    ],
    actions: [checkAgain(context)],
  };
}

/** Another update is in progress, or a newer server sends a reason unknown to this page. */
export function renderReason(view: ViewOf<'other-update' | 'other-reason'>, context: DialogContext): Content {
  const t = texts();
  const why = sentence(codeText(t.reasons, view.reason.code, view.reason.message));
  const heading = view.kind === 'other-update' ? t.otherUpdateInProgress : t.cannotUpdate(t.product);
  const since = view.kind === 'other-update' && view.since !== null ? t.startedAgo(age(view.since)) : null;
  return {
    announcement: `${heading}. ${why}`,
    ticks: since !== null,
    body: [lead(heading, since), h('p', why)],
    actions: [checkAgain(context, 'primary')],
  };
}
