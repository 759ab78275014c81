import { test } from 'vitest';
import type { InstanceOptions } from '../rig/instance-options.ts';
import { expectAttempt, expectWords } from './support/attempt.ts';
import { findUnchanged, updateWell } from './support/good-run.ts';
import { createInstance, type Instance } from './support/instance.ts';

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

// test/agent/plan/plan-update.test.ts and check-lag.test.ts have the other forms.
test('a part of a version is moved as it is written, and leads to the release or nothing happens', async () => {
  const instance = await createInstance({
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
