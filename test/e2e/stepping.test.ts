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
  await execa('docker', ['pull', '--quiet', image]);
  await expectAttempt(instance, ['plan', '--target', 'v1.2.0'], expected);

  // As the advice says.
  const [step, next] = ['v1.1.0', 'v1.2.0'];
  await updateWell(instance, ['--target', step], { version: step, changed: pinned('v1.0.0', step) });
  await updateWell(instance, ['--target', next], { version: next, changed: pinned(step, next) });
});
