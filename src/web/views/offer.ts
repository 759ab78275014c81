import { type Child, h } from '../elements/dom.ts';
import type { DialogView, JobAge, OfferView } from '../model/dialog-states.ts';
import { codeText, texts } from '../texts.ts';
import {
  box,
  button,
  type Content,
  checkAgain,
  command,
  type DialogContext,
  externalLink,
  highlighted,
  lead,
  muted,
} from './components.ts';
import { age, fromTo, joined, seconds, sentence } from './format.ts';
import { notesNodes } from './notes.ts';

type ViewOf<K extends DialogView['kind']> = Extract<DialogView, { kind: K }>;

export function renderOffer(view: OfferView, context: DialogContext): Content {
  const t = texts();
  const { status, to, before, major } = view;
  const heading = t.available(before ?? to);
  const about = joined(
    t.youRun(status.version),
    major ? t.newMajor : codeText(names(t.channels), status.channel, status.channel),
    view.published !== null && t.publishedAgo(age(view.published)),
  );
  const away =
    view.lastAway === null ? t.awayFew(t.product) : t.awayAsLast(t.product, seconds(view.lastAway));
  const preparation = status.preparation === null ? null : sentence(status.preparation);
  const label = before === null ? t.updateNow : t.updateTo(to);
  return {
    title: t.heading(t.product),
    key: 'available',
    announcement: heading,
    body: [
      lead(highlighted(heading, before ?? to), about),
      before !== null && box('warn', t.needsFirst(before, to), h('span', {}, t.needsFirstAbout)),
      major && box('warn', t.onlyForward, dumpNode(preparation, context)),
      notesNodes(view.releases, context),
      muted(joinedSentences(major ? null : preparation, away, t.jobsWait)),
    ],
    actions: [
      button('start', label, () => context.start(to), { look: 'primary' }),
      externalLink(view.url, t.releaseNotes, 'end'),
    ],
  };
}

const names = (channels: Record<string, { name: string }>): Record<string, string> =>
  Object.fromEntries(Object.entries(channels).map(([key, { name }]) => [key, name]));

function dumpNode(preparation: string | null, context: DialogContext): Child {
  const t = texts();
  if (preparation !== null) return h('span', {}, preparation);
  const { dumpUrl } = context;
  return h('span', {}, t.takeDump, dumpUrl !== null && [' ', h('a', { href: dumpUrl }, t.howToDump)]);
}

export function renderJobs(view: ViewOf<'jobs'>, context: DialogContext): Content {
  const t = texts();
  const { jobs, isStuck, status, to } = view;
  const heading = t.inTheWay(jobs.length);
  const { isConfirming } = context.local;
  const anyway = button('anyway', t.updateAnyway, () => context.set({ isConfirming: true }), {
    look: 'danger',
    isLast: true,
  });
  return {
    title: t.heading(t.product),
    key: 'jobs',
    announcement: isConfirming ? `${t.willCut} ${jobs.filter(isRunning).map(jobName).join(', ')}` : heading,
    ticks: true,
    body: [
      lead(heading, fromTo(status.version, to)),
      jobList(jobs),
      isConfirming
        ? box(
            'bad',
            t.willCut,
            h('ul', {}, ...jobs.filter(isRunning).map((job) => h('li', {}, jobName(job)))),
          )
        : muted(isStuck ? t.isStuck : t.canWait(t.product)),
    ],
    actions: isConfirming
      ? [
          button('back', t.back, () => context.set({ isConfirming: false })),
          button('force', t.cutShort, () => context.start(to, { force: true }), {
            look: 'danger',
            isLast: true,
          }),
        ]
      : isStuck
        ? [checkAgain(context, { look: 'primary' }), anyway]
        : [
            button('idle', t.updateWhenIdle, () => context.start(to, { when: 'idle' }), { look: 'primary' }),
            checkAgain(context),
            anyway,
          ],
  };
}

// What is queued is not cut short: it runs afterwards. A state that nobody knows counts as running.
const isRunning = ({ state }: JobAge): boolean => state !== 'queued';

const jobName = ({ kind, title }: JobAge): string => {
  const name = codeText(texts().jobKinds, kind, kind);
  return title === null ? name : `${name} ${title}`;
};

export function jobList(jobs: readonly JobAge[]): Child {
  const t = texts();
  if (jobs.length === 0) return null;
  return h(
    'ul',
    { key: 'jobs', class: 'jobs' },
    ...jobs.map(({ kind, title, state, stuck, age: since }) => {
      const time = since === null ? null : age(since);
      const said = stuck
        ? time === null
          ? t.stuck
          : t.stuckFor(time)
        : state === 'queued'
          ? t.queued
          : time;
      return h(
        'li',
        {},
        h('span', { class: 'kind' }, codeText(t.jobKinds, kind, kind)),
        h('span', {}, title ?? ''),
        h('span', { class: stuck ? 't stuck' : 't' }, said),
      );
    }),
  );
}

export function renderNothing(
  { status, checked, nextCheck }: ViewOf<'nothing'>,
  context: DialogContext,
): Content {
  const t = texts();
  const { upToDate, feedError, version, channel } = status;
  const said = upToDate ? codeText(t.upToDate, upToDate.code, upToDate.message) : t.nothingNewer;
  const when = checked === null ? null : t.checkedAgo(age(checked));
  return {
    title: t.heading(t.product),
    key: 'nothing',
    announcement: said,
    body: [
      lead(t.versionRuns(version), codeText(names(t.channels), channel, channel)),
      h('p', {}, joinedSentences(sentence(said), when)),
      feedError !== null &&
        box(
          'warn',
          t.lastCheckFailed,
          h(
            'span',
            {},
            joinedSentences(sentence(feedError.message), nextCheck !== null && t.nextTry(age(nextCheck))),
          ),
        ),
    ],
    actions: [checkAgain(context, { look: 'primary' })],
  };
}

export function renderNotPossible(
  { status, reason }: ViewOf<'not-possible'>,
  context: DialogContext,
): Content {
  const t = texts();
  const said = sentence(codeText(t.reasons, reason.code, reason.message));
  return {
    title: t.heading(t.product),
    key: 'not-possible',
    announcement: `${t.notPossible}. ${said}`,
    body: [
      lead(t.notPossible, said),
      status.manual.length > 0 && h('p', {}, t.byHand),
      status.manual.length > 0 &&
        h('div', { class: 'cmds' }, ...status.manual.map((line) => command(line, context))),
    ],
    actions: [checkAgain(context)],
  };
}

/** A reason that is another's update, or a newer server's own. */
export function renderReason(view: ViewOf<'other-update' | 'other-reason'>, context: DialogContext): Content {
  const t = texts();
  const said = sentence(codeText(t.reasons, view.reason.code, view.reason.message));
  const heading = view.kind === 'other-update' ? t.otherUpdate : t.notPossible;
  const since = view.kind === 'other-update' && view.since !== null ? t.ago(age(view.since)) : null;
  return {
    title: t.heading(t.product),
    key: view.kind,
    announcement: `${heading}. ${said}`,
    ticks: since !== null,
    body: [lead(heading, since), h('p', {}, said)],
    actions: [checkAgain(context, { look: 'primary' })],
  };
}

export const joinedSentences = (...sentences: (string | null | false)[]): string =>
  sentences.filter(Boolean).join(' ');
