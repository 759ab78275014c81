import { test } from 'vitest';
import type { InstanceOptions } from '../rig/instance-options.ts';
import { layouts } from '../rig/layout.ts';
import { createInstanceFor, expectAttempt, expectWords } from './support/attempt.ts';
import { findUnchanged, updateWell } from './support/good-run.ts';
import type { Instance } from './support/instance.ts';

// Products that write their versions in another way than svc does.

const only = {
  repository: 'home',
  kind: 'inline',
  text: { worker: null },
  up: ['--no-deps', 'app'],
  publish: [],
} satisfies InstanceOptions;

const set = (from: string, to: string) => (text: string) => text.replaceAll(`/home:${from} `, `/home:${to} `);
const to = (target: string) => ['--target', target];
const app = { moved: ['app'] };

/** What is refused changes nothing, and the version that runs has its own form. */
const refused = (instance: Instance, target: string | null, code: string, says: string, runs: string) =>
  expectAttempt(instance, target === null ? [] : to(target), {
    exitCode: 3,
    says: [says],
    ends: [`refused (${code}): nothing was changed, ${runs} runs on. Next: `],
  });

test.concurrent('a part of a version is moved as it is written, and leads to the release or nothing happens', async ({
  onTestFinished,
}) => {
  const instance = await createInstanceFor(onTestFinished, {
    ...only,
    tag: '2025.10',
    release: { version: '2025.10.2' },
  });
  const { image } = instance;
  await Promise.all(['2025.11', '2025.11.1'].map((tag) => instance.publish(tag, { version: '2025.11.1' })));
  await refused(instance, '2025.12.1', 'pin-unsupported', `${image} has no 2025.12`, '2025.10.2');
  await refused(
    instance,
    '2025.11.7',
    'lags',
    `${image}:2025.11 leads to 2025.11.1, not to 2025.11.7`,
    '2025.10.2',
  );
  expectWords(await instance.update(['plan', ...to('2025.12.1')]), {
    exitCode: 3,
    says: [`${image} has no 2025.12`],
    ends: ['refused (pin-unsupported)'],
  });

  await updateWell(instance, to('2025.11.1'), {
    ...app,
    version: 'v2025.11.1',
    changed: { 'compose.yaml': set('2025.10', '2025.11') },
    says: [/done updated 2025\.10\.2 → 2025\.11 \(2025\.11\.1\) in /],
  });
  await findUnchanged(instance, to('2025.11.1'), { says: ['app runs 2025.11 (2025.11.1) already'] });
  await instance.publish('2025.11', { version: '2025.11.2' });
  await updateWell(instance, [], { ...app, version: 'v2025.11.2' });
});

// As Nextcloud publishes it: images without a version, and a service beside the app that runs the same.
test.concurrent('a variant by itself leads to the release or nothing happens, for all that runs it', async ({
  onTestFinished,
}) => {
  const silent = (version: string) => ({ version, versionLabel: null });
  const instance = await createInstanceFor(onTestFinished, {
    ...only,
    tag: 'apache',
    release: silent('31.0.9'),
    layout: (c) =>
      layouts.inline({
        ...c,
        text: {
          worker: null,
          extra: { cron: `image: ${c.image}:${c.tag}\ncommand: tunnel\nnetworks: [internal]` },
        },
      }),
    up: ['--no-deps', 'app', 'cron'],
  });
  const { image } = instance;
  const both = ['--service', 'app', '--service', 'cron'];
  await Promise.all(['apache', '32.0.1-apache'].map((tag) => instance.publish(tag, silent('32.0.1'))));
  await instance.publish('32.0.2-apache', { ...silent('32.0.2'), env: { READY_AFTER: '0.1' } });
  await instance.publish('32.0.3-fpm', silent('32.0.1'));
  const leftBehind = () =>
    expectAttempt(instance, to('v32.0.1'), {
      exitCode: 3,
      says: [`cron belongs with app (the same repository, ${image}), and was not named`],
      ends: [
        'refused (left-behind): nothing was changed. Next: Run it with --service app --service cron; or, to leave it at the old version, with --leave cron besides.',
      ],
    });
  await leftBehind();
  const lags = (target: string, says: string) =>
    expectAttempt(instance, [...to(target), ...both], {
      exitCode: 3,
      says: [says, `${image}:apache names the image from before again`],
      ends: ['refused (lags): nothing was changed, apache runs on. Next: '],
    });
  await lags('v32.0.99', `${image} has no v32.0.99, and apache tells no version`);
  await lags('32.0.3', `${image} has no 32.0.3, and apache tells no version`);
  await lags('32.0.2', `${image}:apache leads to another image than ${image}:32.0.2-apache`);
  await updateWell(instance, [...to('32.0.1'), ...both], { moved: ['app', 'cron'], version: 'v32.0.1' });
  await findUnchanged(instance, [...to('32.0.1'), '--leave', '*'], {});
  await leftBehind();
});
