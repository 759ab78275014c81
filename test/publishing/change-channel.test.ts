import { describe, expect, it } from 'vitest';
import {
  type ChannelCommand,
  changeChannel,
  describeChange,
  firstChannelFile,
} from '../../scripts/lib/release/change-channel.ts';
import type { ChannelFile } from '../../src/provenance/channel-file.ts';

const current: ChannelFile = {
  ...firstChannelFile('svc', 'stable'),
  ...{ issuedAt: '2026-11-20T08:00:00.000Z', expires: '2027-02-18T08:00:00.000Z' },
  urgent: { below: 'v1.3.1', why: 'Passwords can be read.' },
  recalled: [{ version: 'v1.2.0', why: 'It does not start.' }],
  rollout: { version: 'v1.4.0', percent: 10 },
};
const validity = { now: new Date('2026-11-27T08:00:00Z'), days: 90 };
const dates = [
  'issued: 2026-11-20T08:00:00.000Z → 2026-11-27T08:00:00.000Z',
  'expires: 2027-02-18T08:00:00.000Z → 2027-02-25T08:00:00.000Z',
];
const why = 'It deletes uploads.';

const urgentNow = 'security update for all versions older than v1.3.1 (Passwords can be read.)';
const rolloutNow = 'v1.4.0 to 10 % of all instances';
type Name = 'urgent' | 'recall' | 'rollout';
const urgent = (version: string): ChannelCommand => ({ name: 'urgent', version, why });
const recall = (version: string): ChannelCommand => ({ name: 'recall', version, why });
const rollout = (version: string, percent: string): ChannelCommand => ({ name: 'rollout', version, percent });
const withdraw = (name: Name, version?: string) =>
  ({ name, ...(version !== undefined && { version }), withdraw: true }) as ChannelCommand;

describe('the difference made by a command', () => {
  it.each<[ChannelCommand, string[]]>([
    [{ name: 'renew' }, []],
    [
      urgent('v1.4.1'),
      [`urgent: ${urgentNow} → security update for all versions older than v1.4.1 (It deletes uploads.)`],
    ],
    [withdraw('urgent'), [`urgent: ${urgentNow} → none`]],
    [
      { name: 'recall', version: 'v1.3.0', why, url: 'https://svc.test/' },
      ['recall of v1.3.0: none → recalled (It deletes uploads., https://svc.test/)'],
    ],
    [
      recall('v1.4.0'),
      ['recall of v1.4.0: none → recalled (It deletes uploads.)', `rollout: ${rolloutNow} → none`],
    ],
    [recall('v1.2.0'), ['recall of v1.2.0: recalled (It does not start.) → recalled (It deletes uploads.)']],
    [withdraw('recall', 'v1.2.0'), ['recall of v1.2.0: recalled (It does not start.) → none']],
    [rollout('v1.4.0', '50'), [`rollout: ${rolloutNow} → v1.4.0 to 50 % of all instances`]],
    [withdraw('rollout'), [`rollout: ${rolloutNow} → none`]],
  ])('%j', (command, lines) => {
    expect(describeChange(current, changeChannel(current, command, validity))).toEqual([...dates, ...lines]);
  });

  it('lists all values of a first file', () => {
    const command = { name: 'rollout', version: 'v1.6.0-canary.1', percent: '0' } as const;
    const file = changeChannel(firstChannelFile('acme', 'canary'), command, validity);
    expect(file).toMatchObject({ format: 1, product: 'acme', channel: 'canary', urgent: null, recalled: [] });
    expect(describeChange(null, file)).toEqual([
      'issued: never → 2026-11-27T08:00:00.000Z',
      'expires: never → 2027-02-25T08:00:00.000Z',
      'rollout: none → v1.6.0-canary.1 to 0 % of all instances',
    ]);
  });
});

describe('a command is rejected', () => {
  it.each<[string, ChannelCommand, string]>([
    ['without a reason', { name: 'recall', version: 'v1.3.0', why: ' ' }, '--why TEXT is missing'],
    ['for a tag that is no release', recall('1.3'), '"1.3" is not a release'],
    [
      'for a release of the other channel',
      urgent('v1.5.0-canary.1'),
      'v1.5.0-canary.1 is a canary release, but this is the file of the stable channel',
    ],
    ['if the urgent release is recalled', urgent('v1.2.0'), 'v1.2.0 is recalled'],
    ['if a newer release is urgent', urgent('v1.3.0'), 'v1.3.1 is urgent already and newer than v1.3.0'],
    ['if another release is urgent', withdraw('urgent', 'v1.3.0'), 'the urgent update is v1.3.1, not v1.3.0'],
    [
      'if there is no such recall',
      withdraw('recall', 'v1.3.0'),
      'v1.3.0 is not recalled, so there is nothing to withdraw',
    ],
    ['if the release to roll out is recalled', rollout('v1.2.0', '5'), 'v1.2.0 is recalled'],
    [
      'if a newer release is rolled out',
      rollout('v1.3.2', '5'),
      'the current rollout is of v1.4.0, which is newer than v1.3.2',
    ],
    [
      'if another release is rolled out',
      withdraw('rollout', 'v1.3.0'),
      'the staged rollout is of v1.4.0, not of v1.3.0',
    ],
    ...['101', '-1', '10.5', '', '5%'].map((percent): [string, ChannelCommand, string] => [
      `with the percentage ${percent}`,
      rollout('v1.4.0', percent),
      `the percentage must be a whole number from 0 to 100, not "${percent}"`,
    ]),
  ])('%s', (_, command, message) => {
    expect(() => changeChannel(current, command, validity)).toThrow(message);
  });

  it.each(['urgent', 'rollout'] as const)('if there is nothing to withdraw: %s', (name) => {
    const first = firstChannelFile('svc', 'stable');
    expect(() => changeChannel(first, { name, withdraw: true }, validity)).toThrow('nothing to withdraw');
  });

  it('if the current file was issued in the future', () => {
    const future = { ...current, issuedAt: '2026-11-27T08:00:00Z' };
    expect(() => changeChannel(future, { name: 'renew' }, validity)).toThrow(
      'the current file was issued at 2026-11-27T08:00:00Z, which is in the future',
    );
  });

  it.each([0, 367, 1.5, Number.NaN])('with a validity of %d days', (days) => {
    expect(() => changeChannel(current, { name: 'renew' }, { ...validity, days })).toThrow(
      '--days must be a whole number from 1 to 366',
    );
  });
});
