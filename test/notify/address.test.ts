import { describe, expect, it } from 'vitest';
import { parseNotificationAddress } from '../../src/notify/address.ts';

describe('parseNotifyAddress', () => {
  const login = (value: string) => ({ 'Content-Type': 'application/json', Authorization: `Basic ${value}` });

  it.each([
    ['https://hooks.example/a?b=c', { style: 'plain', url: 'https://hooks.example/a?b=c' }],
    ['http://10.0.0.1:8080', { style: 'plain', url: 'http://10.0.0.1:8080/' }],
    ['slack+https://hooks.slack.example/T/B/x', { style: 'slack' }],
    ['ntfy+https://ntfy.example/svc', { style: 'ntfy', topic: 'svc', url: 'https://ntfy.example/' }],
    ['ntfy+https://ntfy.example/base/svc', { topic: 'svc', url: 'https://ntfy.example/base/' }],
    ['https://ann:p%40ss@h.example/x', { url: 'https://h.example/x', headers: login('YW5uOnBAc3M=') }],
    ['ntfy+https://:tk_1@h.example/t', { url: 'https://h.example/', headers: login('OnRrXzE=') }],
  ])('reads %s', (text, expected) => {
    const address = parseNotificationAddress(text);
    expect({ ...address, url: address?.url.href }).toMatchObject(expected);
  });

  it.each([
    '',
    'hooks.example',
    'ftp://hooks.example',
    'mailto:a@b.example',
    'discord+https://hooks.example/x',
    'https://',
    'https://hooks.example/a b',
    'https://hooks.example/a\u0085b',
    'ntfy+https://ntfy.example',
    'ntfy+https://ntfy.example/a.b',
    `https://hooks.example/${'a'.repeat(2001)}`,
  ])('rejects %j', (text) => {
    expect(parseNotificationAddress(text)).toBeNull();
  });
});
