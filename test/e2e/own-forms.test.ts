import { expect, test } from 'vitest';
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

test.concurrent('a release of the year: no v, no downgrade, no release in short', async ({
  onTestFinished,
}) => {
  const instance = await createInstanceFor(onTestFinished, { ...only, tag: '2025.12.3' });
  const { image } = instance;
  await Promise.all(['2026.1.0', '2026.1'].map((tag) => instance.publish(tag, { version: '2026.1.0' })));
  const runs = '2025.12.3';
  await refused(
    instance,
    null,
    'no-target',
    'app is pinned to 2025.12.3 by image of app in compose.yaml',
    runs,
  );
  await refused(instance, '2025.12.2', 'downgrade', '2025.12.2 is older than 2025.12.3, which runs', runs);
  await refused(instance, '2026.1', 'pin-unsupported', `; ${image} has 2026.1.0 and 2026.1`, runs);
  const missing = await instance.update(to('2026.1.9'));
  expectWords(missing, {
    exitCode: 4,
    says: [],
    ends: ['failed (pull-unknown): nothing was changed, 2025.12.3 runs on.'],
    never: [/v20\d\d/],
  });
  const { log } = await updateWell(instance, to('v2026.1.0'), {
    ...app,
    version: 'v2026.1.0',
    changed: { 'compose.yaml': set('2025.12.3', '2026.1.0') },
    says: [/done updated 2025\.12\.3 → 2026\.1\.0 in /],
  });
  expect(log).not.toMatch(/v20\d\d/);
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

test.concurrent('a part with a variant, of images that tell no version', async ({ onTestFinished }) => {
  const silent = (version: string) => ({ version, versionLabel: null });
  const instance = await createInstanceFor(onTestFinished, {
    ...only,
    tag: '31-apache',
    release: silent('31.0.9'),
  });
  const { image } = instance;
  await Promise.all(['32-apache', '32.0.1-apache'].map((tag) => instance.publish(tag, silent('32.0.1'))));
  await instance.publish('32.0.0-apache', silent('32.0.0'));
  const runs = '31-apache';
  await refused(instance, '32.0.1-fpm', 'pin-unsupported', '32.0.1-fpm is not of the variant of app', runs);
  await refused(instance, '32.0.7', 'lags', `${image} has no 32.0.7, and 32-apache tells no version`, runs);
  await refused(
    instance,
    '32.0.0',
    'lags',
    `32-apache leads to another image than ${image}:32.0.0-apache`,
    runs,
  );
  await updateWell(instance, to('32.0.1'), {
    ...app,
    version: 'v32.0.1',
    changed: { 'compose.yaml': set('31-apache', '32-apache') },
    says: [/done updated 31-apache → 32-apache in /],
    warns: [
      '31 → 32.0.1 changes the major version: dump the database first, or have --restore-point keep it: there is no other way back',
    ],
  });
});

test.concurrent("a product's own word, and what has no version", async ({ onTestFinished }) => {
  const instance = await createInstanceFor(onTestFinished, {
    ...only,
    tag: 'stable',
    release: { version: '2025.8.3' },
  });
  const { image } = instance;
  await refused(
    instance,
    '2025.8.4',
    'lags',
    `${image}:stable leads to 2025.8.3, not to 2025.8.4`,
    '2025.8.3',
  );
  await findUnchanged(instance, to('stable'), { says: ['app runs stable (2025.8.3) already'] });
  await instance.publish('stable', { version: '2025.8.4' });
  await updateWell(instance, to('2025.8.4'), {
    ...app,
    version: 'v2025.8.4',
    says: [/done updated 2025\.8\.3 → stable \(2025\.8\.4\) in /],
  });

  const dated = 'RELEASE.2025-09-01T00-00-00Z';
  await refused(instance, dated, 'pin-unsupported', `${dated} is no version`, '2025.8.4');
  await instance.write('compose.yaml', set('stable', dated)(await instance.read('compose.yaml')));
  await refused(instance, '2025.9.0', 'pin-unsupported', `app is pinned to ${dated} (`, '2025.8.4');
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

// As Mattermost publishes it: what floats has a word before it, the releases have none, and no image tells its version.
test.concurrent('a part behind a word is moved as it is written', async ({ onTestFinished }) => {
  const silent = (version: string) => ({ version, versionLabel: null });
  const instance = await createInstanceFor(onTestFinished, {
    ...only,
    tag: 'release-10.11',
    release: silent('10.11.3'),
  });
  const { image } = instance;
  await Promise.all(['release-11.0', '11.0.2'].map((tag) => instance.publish(tag, silent('11.0.2'))));
  await instance.publish('11.0.1', silent('11.0.1'));
  const runs = 'release-10.11';
  await refused(
    instance,
    '10.10.9',
    'downgrade',
    '10.10.9 is older than release-10.11, which app is at',
    runs,
  );
  await refused(instance, '11.1.0', 'pin-unsupported', `${image} has no release-11.1`, runs);
  await refused(instance, '11.0.1', 'lags', `release-11.0 leads to another image than ${image}:11.0.1`, runs);
  await updateWell(instance, to('11.0.2'), {
    ...app,
    version: 'v11.0.2',
    changed: { 'compose.yaml': set('release-10.11', 'release-11.0') },
    says: [/done updated release-10\.11 → release-11\.0 in /],
    warns: [/10\.11 → 11\.0\.2 changes the major version/],
  });
  await findUnchanged(instance, to('11.0'), {});
});
