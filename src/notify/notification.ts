import { escapeUnprintable } from '../core/text/plain-text.ts';
import type { NotificationAddress } from './address.ts';

const titles = {
  offered: 'update available',
  urgent: 'security update available',
  recalled: 'running version recalled',
  started: 'update started',
  finished: 'update finished',
  rehearsed: 'rehearsal finished',
} as const;

/** A notification. In the plain style, it is the JSON body of the request. */
export interface Notification {
  event: keyof typeof titles;
  /** Name of the product. */
  product: string;
  /** Version that is available, recalled or installed. */
  version: string | null;
  from: string | null;
  outcome: string | null;
  code: string | null;
  message: string;
  url: string | null;
}

const good: readonly (string | null)[] = [null, 'updated', 'unchanged', 'cancelled'];

/** Maximum message length in characters. ntfy allows 4,096 bytes, and a character can have 4 bytes. */
const mostCharacters = 1000;

/** Returns the JSON body in the style of the address: plain, ntfy or Slack. */
export function createNotificationBody(given: Notification, { style, topic }: NotificationAddress): object {
  const message = [...escapeUnprintable(given.message)].slice(0, mostCharacters).join('');
  if (style === 'plain') return { ...given, message };
  const { event, product, outcome, url } = given;
  const title = `${product}: ${titles[event]}${outcome === null ? '' : ` (${outcome})`}`;
  if (style === 'slack') return { text: slackText([title, message, url ?? []].flat().join('\n')) };
  const isBad = event === 'urgent' || event === 'recalled' || !good.includes(outcome);
  const looks = isBad ? { priority: 4, tags: ['warning'] } : { priority: 3, tags: ['package'] };
  return { topic, title, message, ...looks, ...(url !== null && { click: url }) };
}

/** Escapes the characters that Slack interprets as links and mentions. */
const slackText = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
