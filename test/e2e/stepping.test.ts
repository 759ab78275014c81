import { execa } from 'execa';
import { expect, test } from 'vitest';
import { parseEnd } from '../../src/progress/end-line.ts';
import type { UpdateResult } from '../rig/updater-run.ts';
import { expectAttempt } from './support/attempt.ts';
import { updateWell } from './support/good-run.ts';
import { alone, createInstance } from './support/instance.ts';

// docs/contract.md 3.16: releases that another one has to come before. What a row of a table can show is in
// test/agent/plan/stepping.test.ts.

const requires = (version: string, label: string) => ({ version, labels: { 'svc.release-requires': label } });
const pinned = (from: string, to: string) => ({
  '.env': (text: string) => text.replace(`SVC_VERSION=${from}`, `SVC_VERSION=${to}`),
});

/** What the refusal says in words; the image names the release that is refused. */
const refusal = (image: string, { step, runs }: { step: string; runs: string }) => ({
  exitCode: 3,
  says: [`${image} can only be updated to from ${step} on, and ${runs} runs`],
});

/** What a server reads of the last line. */
const endOf = ({ lines }: UpdateResult) => parseEnd(lines.at(-1)?.message ?? '');

/** What `--log json` says of the end, but for its time and its sentence. */
function fieldsOf({ log }: UpdateResult): object {
  const { time, msg, level, ...fields } = JSON.parse(log.trimEnd().split('\n').at(-1) ?? '');
  return fields;
}

/** What the last line says to whoever parses it. */
const ended = (step: string, advice: string) => ({
  outcome: 'refused',
  code: 'upgrade-step',
  step,
  state: expect.stringMatching(new RegExp(`^nothing was changed, v\\S+ runs on; ${step} has to come first$`)),
  advice,
});

test('a pinned release is refused from an older one, and reached by way of the one that it names', async () => {
  const instance = await createInstance({ ...alone, publish: [] });
  await Promise.all([
    instance.publish('v1.1.0', requires('1.1.0', 'v1.0.0')),
    instance.publish('v1.2.0', requires('1.2.0', 'v1.1.0')),
    instance.publish('v1.3.0', requires('1.3.0', 'the one before')),
  ]);
  const image = `${instance.image}:v1.2.0`;
  const advice = 'Run the update with --target v1.1.0 first, then again with --target v1.2.0.';
  const expected = {
    ...refusal(image, { step: 'v1.1.0', runs: 'v1.0.0' }),
    ends: ['refused (upgrade-step)', advice],
  };

  await expectAttempt(instance, ['plan', '--target', 'v1.2.0'], {
    exitCode: 0,
    says: [
      `${image} is not on this machine yet: what only the pulled image can tell is not shown, such as a release`,
    ],
    ends: ['planned: nothing was changed'],
  });
  const refused = expectAttempt(instance, ['--target', 'v1.2.0'], expected);
  expect(endOf(await refused)).toEqual(ended('v1.1.0', advice));
  const json = await instance.update(['--target', 'v1.2.0', '--log', 'json']);
  expect(fieldsOf(json)).toEqual({
    phase: 'done',
    outcome: 'refused',
    code: 'upgrade-step',
    step: 'v1.1.0',
    advice,
  });
  await execa('docker', ['pull', '--quiet', image]);
  await expectAttempt(instance, ['plan', '--target', 'v1.2.0'], expected);

  // As the advice says.
  const [step, next, last] = ['v1.1.0', 'v1.2.0', 'v1.3.0'];
  await updateWell(instance, ['--target', step], { version: step, changed: pinned('v1.0.0', step) });
  await updateWell(instance, ['--target', next], { version: next, changed: pinned(step, next) });
  await updateWell(instance, ['--target', last], {
    version: last,
    changed: pinned(next, last),
    warns: [/svc\.release-requires=the one before, which is no release/],
  });
});

test('canaries compare as everywhere; the floating tag goes back to what it was', async () => {
  const instance = await createInstance({
    ...alone,
    tag: 'canary',
    release: { version: '1.1.0-canary.9' },
    publish: ['v1.1.0'],
  });
  const image = `${instance.image}:canary`;
  await instance.publish('canary', requires('1.2.0-canary.1', 'v1.1.0'));
  const advice = 'Run the update with --target v1.1.0 first, then again with --target canary.';
  const refused = expectAttempt(instance, ['--target', 'canary'], {
    exitCode: 3,
    says: [
      `${image} can only be updated to from v1.1.0 on, and v1.1.0-canary.9 runs`,
      `${image} names the image from before again`,
    ],
    ends: [advice],
  });
  expect(endOf(await refused)).toEqual(ended('v1.1.0', advice));
  await updateWell(instance, ['--target', 'v1.1.0'], {
    version: 'v1.1.0',
    changed: pinned('canary', 'v1.1.0'),
  });
  await updateWell(instance, ['--target', 'canary'], {
    version: 'v1.2.0-canary.1',
    changed: pinned('v1.1.0', 'canary'),
  });
});

test('at latest, the advice to pin by hand works when it is followed', async () => {
  const instance = await createInstance({
    ...alone,
    tag: 'latest',
    release: { version: '1.0.0' },
    publish: ['v1.5.0'],
  });
  await instance.publish('latest', requires('2.0.0', 'v1.5.0'));
  const place = 'SVC_VERSION in .env line 7';
  const advice = `Pin v1.5.0 by hand (${place}) and run the update with --target v1.5.0 first; then put latest back and run it again without a target.`;
  const refused = expectAttempt(instance, [], {
    exitCode: 3,
    says: [`${instance.image}:latest names the image from before again`],
    ends: [advice],
  });
  expect(endOf(await refused)).toEqual(ended('v1.5.0', advice));

  const byHand = async (from: string, to: string) =>
    instance.write('.env', pinned(from, to)['.env'](await instance.read('.env')));
  await byHand('latest', 'v1.5.0');
  await updateWell(instance, ['--target', 'v1.5.0'], { version: 'v1.5.0' });
  await byHand('v1.5.0', 'latest');
  await updateWell(instance, [], { version: 'v2.0.0', warns: [/changes the major version/] });
});

test('a running version that nobody knows is a warning', async () => {
  const unknown = { version: '1.0.0', versionLabel: null };
  const instance = await createInstance({ ...alone, tag: 'edge', release: unknown, publish: [] });
  await instance.publish('edge', requires('1.2.0', 'v1.1.0'));
  await updateWell(instance, [], {
    version: 'v1.2.0',
    warns: [
      /is at edge, which is no release tag/,
      /is at edge, which is no release tag/,
      `${instance.image}:edge can only be updated to from v1.1.0 on, and what runs does not tell its version: it is not checked`,
    ],
  });
});
