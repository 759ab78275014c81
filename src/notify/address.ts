import { unescape as unescaped } from 'node:querystring';

/** Address for notifications. Only its host may be printed, because the rest of the address is secret. */
export interface NotificationAddress {
  style: 'plain' | 'ntfy' | 'slack';
  /** Topic of an ntfy address; not used for other styles. */
  topic: string;
  url: URL;
  headers: Record<string, string>;
}

export const maxNotificationAddresses = 8;
export const notificationAddressDescription =
  'an http or https address, ntfy+https://HOST/TOPIC or slack+https://HOST/PATH';

/** Returns null if the text is not a valid address. */
export function parseNotificationAddress(text: string): NotificationAddress | null {
  const form = /^(?:(ntfy|slack)\+)?(https?:\/\/[^\s\p{Cc}]{1,2000})$/u;
  const [, style = 'plain', address = ''] = form.exec(text) ?? [];
  if (!URL.canParse(address)) return null;
  const url = new URL(address);
  const [topic = ''] = /(?<=\/)[\w-]{1,64}$/.exec(url.pathname) ?? [];
  if (style === 'ntfy') {
    if (topic === '') return null;
    url.pathname = url.pathname.replace(/[\w-]+$/, '');
  }
  const login = Buffer.from(unescaped(`${url.username}:${url.password}`)).toString('base64');
  const isOpen = url.username === '' && url.password === '';
  Object.assign(url, { username: '', password: '' });
  const headers = { 'Content-Type': 'application/json', ...(!isOpen && { Authorization: `Basic ${login}` }) };
  return { style: style as NotificationAddress['style'], topic, url, headers };
}
