import { describe, expect, it } from 'vitest';
import type { Script } from '../../src/server/testing/index.ts';
import type { AddedReleaseSetting } from '../../src/wire/status.ts';
import { play, svc } from './rig.ts';
import { sit } from './terminal.ts';

const setting = (
  name: string,
  description: string,
  more: Partial<AddedReleaseSetting> = {},
): AddedReleaseSetting => ({
  ...{ name, description, required: true, secret: false },
  ...{ default: null, generated: false, isSet: false },
  ...more,
});
const settings = [
  setting('SMTP_HOST', 'Mail server'),
  setting('SMTP_PASSWORD', 'Its password', { secret: true }),
  setting('SMTP_PORT', 'Its port', { default: '25' }),
];
const script: Script = { speed: 20, status: { next: { version: 'v1.5.0', major: false, settings } } };
const started = (values: object) => `POST  ${JSON.stringify({ target: 'v1.5.0', settings: values })}`;
const posts = (asked: readonly string[]) => asked.filter((one) => one.startsWith('POST'));

describe.concurrent('new settings of a release', () => {
  it('are set with --set', async () => {
    const { url, asked } = await play(script);
    const words = 'instance update --no-follow --set SMTP_HOST=mail --set SMTP_PASSWORD=a=b';
    expect((await svc(url, words)).exitCode).toBe(0);
    expect(posts(asked)).toEqual([started({ SMTP_HOST: 'mail', SMTP_PASSWORD: 'a=b' })]);
  });

  it('are listed if they are missing without a terminal, and no request is sent', async () => {
    const { url, asked } = await play(script);
    const { out, exitCode } = await svc(url, 'instance update --set SMTP_HOST=mail');
    expect([exitCode, out]).toEqual([
      3,
      'Cannot update now: v1.5.0 needs a value for SMTP_PASSWORD.\n  Next: Add --set NAME=VALUE or --set NAME.\n',
    ]);
    const json = await svc(url, 'instance update --json');
    expect([json.exitCode, JSON.parse(json.out)]).toMatchObject([
      3,
      { status: 409, reason: { code: 'settings-missing' } },
    ]);
    expect(posts(asked)).toEqual([]);
  });

  it('are checked by the server for another target, and the client prints its rejection', async () => {
    const { url, asked } = await play(script);
    const { out, exitCode } = await svc(url, 'instance update --target v1.6.0');
    expect([exitCode, out]).toEqual([3, expect.stringContaining('Next: Add --set NAME=VALUE')]);
    expect(posts(asked)).toHaveLength(1);
  });

  it('with unknown names are rejected by the server', async () => {
    const { url } = await play(script);
    const { err, exitCode } = await svc(url, 'instance update --target v1.6.0 --set PATH=/evil');
    expect(exitCode).toBe(2);
    expect(err).toContain('The new settings of v1.5.0 are: SMTP_HOST, SMTP_PASSWORD, SMTP_PORT.');
  });

  it('need a value in --set without a terminal', async () => {
    const { url, asked } = await play(script);
    const { err, exitCode } = await svc(url, 'instance update --set SMTP_HOST');
    expect(exitCode).toBe(2);
    expect(err).toContain('Without a terminal, use --set SMTP_HOST=VALUE instead of --set SMTP_HOST.\n');
    expect(posts(asked)).toEqual([]);
  });

  it('are prompted for on a terminal, which does not show secrets', async () => {
    const { url, asked } = await play(script);
    const { all, raw, exitCode } = await sit(url, 'instance update --no-follow --set SMTP_PORT', {
      columns: 80,
      answers: [
        [/SMTP_PORT: $|SMTP_PORT:$/, '587\r'],
        [/SMTP_HOST \(Mail server\):/, 'mail\r'],
        [/SMTP_PASSWORD \(Its password\):/, 'hunter2\r'],
      ],
    });
    expect(exitCode).toBe(0);
    expect(all).toMatch(
      /^SMTP_PORT:\s*\nSMTP_HOST \(Mail server\): mail\nSMTP_PASSWORD \(Its password\):\s*\nThe update to v1\.5\.0 has started\./,
    );
    expect(raw).not.toMatch(/hunter2|587/);
    const values = { SMTP_PORT: '587', SMTP_HOST: 'mail', SMTP_PASSWORD: 'hunter2' };
    expect(posts(asked)).toEqual([started(values)]);
  });

  it('are not sent after Ctrl-C at the prompt for a secret, or after an empty input', async () => {
    const { url, asked } = await play(script);
    const left = await sit(url, 'instance update --set SMTP_PASSWORD', {
      columns: 80,
      answers: [[/SMTP_PASSWORD:/, 'hunt\x03']],
    });
    expect(left.exitCode).toBe(130);
    const empty = await sit(url, 'instance update --set SMTP_HOST=mail', {
      columns: 80,
      answers: [[/password\):/, '\r']],
    });
    expect([empty.exitCode, empty.all]).toEqual([
      3,
      expect.stringContaining('v1.5.0 needs a value for SMTP_PASSWORD.'),
    ]);
    expect(posts(asked)).toEqual([]);
  });
});
