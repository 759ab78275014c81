import { describe, expect, it } from 'vitest';
import {
  type ChannelFile,
  findRecall,
  isChannelFileExpired,
  isRecalled,
  isSecurityUpdateNeeded,
  parseChannelFile,
  rolloutPositionOf,
  verifyChannelFile,
} from '../../src/provenance/channel-file.ts';
import { UnverifiedError } from '../../src/provenance/verify-release.ts';
import { publisher } from './sign.ts';

const recall = { version: 'v1.4.0', why: 'It deletes uploads.', url: 'https://svc.test/v1.4.0' };
const told: ChannelFile = {
  format: 1,
  product: 'svc',
  channel: 'stable',
  issuedAt: '2026-11-20T08:00:00Z',
  expires: '2027-02-18T08:00:00Z',
  urgent: { below: 'v1.4.1', why: 'Passwords can be read.' },
  recalled: [recall],
  rollout: { version: 'v1.5.0', percent: 10 },
};
const bytesOf = (value: unknown) => Buffer.from(JSON.stringify(value));
const readWith = (change: object) => () => parseChannelFile(bytesOf({ ...told, ...change }));

describe('a channel file', () => {
  it('is parsed with and without optional notices', () => {
    expect(parseChannelFile(bytesOf(told))).toEqual(told);
    const silent = { ...told, urgent: null, recalled: [], rollout: null };
    expect(parseChannelFile(bytesOf(silent))).toEqual(silent);
  });

  it.each<[string, object, string]>([
    ['another format', { format: 2 }, 'format'],
    ['an unknown channel', { channel: 'nightly' }, 'channel'],
    ['a version without v', { recalled: [{ ...recall, version: '1.4.0' }] }, 'recalled.0.version must be'],
    ['no reason', { recalled: [{ ...recall, why: '' }] }, 'recalled.0.why must have'],
    ['a long reason', { urgent: { below: 'v1.4.1', why: 'x'.repeat(501) } }, 'urgent.why must have'],
    ['two lines', { urgent: { below: 'v1.4.1', why: 'a\nb' } }, 'urgent.why must have'],
    ['an escape sequence', { urgent: { below: 'v1.4.1', why: 'a\u001b[2J' } }, 'urgent.why must have'],
    ['reordered text', { urgent: { below: 'v1.4.1', why: 'a\u202eb' } }, 'urgent.why must have'],
    ['a script', { recalled: [{ ...recall, url: 'javascript:alert(1)' }] }, 'recalled.0.url must be'],
    [
      'an escape sequence in an address',
      { recalled: [{ ...recall, url: 'https://x/\u001b[2J' }] },
      'url must be',
    ],
    ['more than all', { rollout: { version: 'v1.5.0', percent: 101 } }, 'rollout.percent'],
    ['a time without a zone', { issuedAt: '2026-11-20T08:00:00' }, 'issuedAt'],
    ['an end before its beginning', { expires: '2026-11-20T07:59:59Z' }, 'expires must be after issuedAt'],
    ['an end too far away', { expires: '2027-11-21T08:00:01Z' }, 'expires must be after issuedAt'],
  ])('is rejected with %s', (_, change, message) => {
    expect(readWith(change)).toThrow(message);
  });

  it('is rejected above 64 KiB, and if it is not JSON', () => {
    const recalled = Array.from({ length: 150 }, () => ({ ...recall, why: 'x'.repeat(500) }));
    expect(readWith({ recalled })).toThrow('larger than 64 KiB');
    expect(() => parseChannelFile(Buffer.from('<html>'))).toThrow('not valid JSON');
  });

  it('is verified only with a trusted key and for its product', async () => {
    const anna = publisher();
    const file = bytesOf(told);
    const proven = (trusted: string, product: string) =>
      verifyChannelFile(file, anna.sign(file), { keys: [trusted] }, { product });
    expect(await proven(anna.key, 'svc')).toEqual({
      ...told,
      signer: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    await expect(proven(publisher().key, 'svc')).rejects.toThrow(UnverifiedError);
    await expect(proven(anna.key, 'acme')).rejects.toThrow('a channel file of svc, not of acme');
    const release = bytesOf({ ...told, version: 'v1.5.0', recalled: undefined });
    const asRelease = verifyChannelFile(
      release,
      anna.sign(release),
      { keys: [anna.key] },
      { product: 'svc' },
    );
    await expect(asRelease).rejects.toThrow('channel.json cannot be read: recalled');
  });
});

describe('the rules of a channel file', () => {
  it('expire at the second of the field expires', () => {
    const at = Date.parse(told.expires);
    expect([at - 1, at].map((now) => isChannelFileExpired(told, now))).toEqual([false, true]);
  });

  it.each<[string, boolean]>([
    ['v1.4.0', true],
    ['1.4.0', true],
    ['v1.4.1', false],
    ['v1.4.0-canary.1', false],
    ['latest', false],
  ])('recall %s: %s', (version, expected) => {
    expect(isRecalled(told, version)).toBe(expected);
    expect(findRecall(told, version)).toEqual(expected ? recall : null);
  });

  it.each<[string, boolean]>([
    ['v1.4.0', true],
    ['1.3.9', true],
    ['v1.4.1-canary.3', true],
    ['v1.4.1', false],
    ['v2.0.0', false],
    ['an own build', false],
  ])('require the security update for %s: %s', (version, expected) => {
    expect(isSecurityUpdateNeeded(told, version)).toBe(expected);
    expect(isSecurityUpdateNeeded({ urgent: null }, version)).toBe(false);
  });

  it('select within 3 points of the percentage of 1,000 instances, independently for each version', () => {
    const ids = Array.from(
      { length: 1000 },
      (_, at) => `00000000-0000-4000-8000-${String(at).padStart(12, '0')}`,
    );
    const share = (version: string, percent: number) =>
      ids.filter((id) => rolloutPositionOf(id, version) < percent);
    for (const version of ['v1.4.0', 'v1.4.1', 'v2.0.0'])
      for (const percent of [0, 1, 10, 25, 50, 75, 90, 100]) {
        const found = share(version, percent).length / 10;
        expect(Math.abs(found - percent), `${version} to ${percent} %`).toBeLessThan(3);
        if (percent % 100 === 0) expect(found).toBe(percent);
      }
    // Half of the instances selected for one version are also selected for another version.
    const first = new Set(share('v1.4.0', 50));
    const both = share('v1.4.1', 50).filter((id) => first.has(id)).length;
    expect(Math.abs((both / first.size) * 100 - 50)).toBeLessThan(3);
  });
});
