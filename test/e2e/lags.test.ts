import { expect, test } from 'vitest';
import { judgeUpDoesNothing } from '../judge/operators-up.ts';
import { expectAttempt } from './support/attempt.ts';
import { runUpdater, updateWell } from './support/good-run.ts';
import { alone, createInstance } from './support/instance.ts';

// A floating tag that does not lead to the release that was asked for.

const runsOn = /^refused \(lags\): nothing was changed, v1\.0\.0 runs on\. Next: /;
const choices = /or without --target to take what it leads to; or pin v\S+, where it is published \(.+\)/;

test('a tag that has not moved, that has moved to another release, and one that nobody has published', async () => {
  const instance = await createInstance({ kind: 'default-latest', tag: 'latest', publish: [] });
  const { image } = instance;
  const refused = (target: string, ...says: string[]) =>
    expectAttempt(instance, ['--target', target], { exitCode: 3, says, ends: [runsOn, choices] });

  await refused('v9.9.9', `${image}:latest leads to v1.0.0, not to v9.9.9`);
  await instance.publish('latest', { version: '1.1.0' });
  await refused(
    'v1.2.0',
    `${image}:latest leads to v1.1.0, not to v1.2.0`,
    `${image}:latest names the image from before again`,
  );
  expect(await judgeUpDoesNothing(instance)).toEqual([]);

  const plan = await runUpdater(instance, ['plan', '--target', 'v1.1.0']);
  expect(plan).toMatchObject({ exitCode: 0 });
  expect(plan.log).toContain(`whether ${image}:latest leads to v1.1.0 only the pulled image can tell`);
  await updateWell(instance, ['--target', 'v1.1.0'], { version: 'v1.1.0' });
});

test('an image that tells no version is held against the release that the registry has', async () => {
  const silent = { version: '1.0.0', versionLabel: null };
  const instance = await createInstance({
    ...alone,
    kind: 'default-latest',
    tag: 'latest',
    release: silent,
    publish: [],
  });
  const { image } = instance;
  const next = { version: '1.1.0', versionLabel: null };
  const refused = (...says: string[]) =>
    expectAttempt(instance, ['--target', 'v1.1.0'], {
      exitCode: 3,
      says,
      ends: [/^refused \(lags\): nothing was changed\b/, choices],
    });
  await instance.publish('latest', next);
  await refused(`${image} has no v1.1.0, and latest tells no version`);
  await instance.publish('1.1.0', { ...next, env: { READY_AFTER: '0.1' } });
  await refused(`${image}:latest leads to another image than ${image}:1.1.0`);
  await instance.publish('1.1.0', next);
  await updateWell(instance, ['--target', 'v1.1.0'], { version: 'v1.1.0' });
});
