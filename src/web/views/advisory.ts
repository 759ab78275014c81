import type { Status } from '../../wire/status.ts';
import { h } from '../elements/vnode.ts';
import { texts } from '../texts.ts';
import { box, type Content, externalLink } from './components.ts';
import { dateText, joined, sentence, sentences } from './format.ts';

/** Adds to an idle view what the publisher says about the running version, below the heading. */
export function withAdvisory(
  { body, announcement, ...content }: Content,
  status: Status,
  now: number | null,
): Content {
  const t = texts();
  const { version, recalled, urgent, feedError } = status;
  const [heading, ...rest] = body;
  const stale = feedError?.staleSince && t.staleSince(dateText(feedError.staleSince, now));
  return {
    ...content,
    announcement: joined(recalled && t.recalled(version), urgent && t.securityUpdate, stale, announcement),
    body: [
      heading,
      recalled &&
        box(
          'bad',
          t.recalled(version),
          h('span', sentence(recalled.why)),
          externalLink(recalled.url, t.moreAbout),
        ),
      urgent &&
        box('warn', t.securityUpdate, h('span', sentences(t.affected(urgent.below), sentence(urgent.why)))),
      stale && box('warn', stale, h('span', sentence(feedError.message))),
      ...rest,
    ],
  };
}
