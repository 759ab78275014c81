import { describe, expect, it } from 'vitest';
import type { ProjectUpdatePlan } from '../../../src/updater/compose/plan/prepared-plan.ts';
import { requirePublishedTags } from '../../../src/updater/plan/check-published.ts';
import { checkedBeside, composeText, installed, planTo } from '../../build-plan.ts';

/** Checks the plan against a registry with these tags; null if the registry does not respond. */
const checked = (tags: readonly string[] | null, plan: ProjectUpdatePlan) =>
  checkedBeside(
    (tag) => (tags === null ? null : tags.includes(tag) ? { digest: `sha256:${tag}` } : 'none'),
    (lookUp) => requirePublishedTags(plan, lookUp),
  );

const planOf = (pin: string, to: string) => {
  const app = `acme/home:${pin}`;
  const from = installed({ 'compose.yaml': composeText({ app, worker: app }) }, { runningVersion: null });
  return planTo(to, { ...from, prefix: pin.startsWith('v') ? 'v' : '' });
};

const place = 'image of app in compose.yaml line 3';

describe('checkPublished', () => {
  it.each<[string, string, string[] | null, string[]]>([
    ['2025.10', '2025.11.1', ['2025.11'], ['2025.11']],
    ['31-apache', '32', ['32-apache'], ['32-apache']],
    ['1.4.2-alpine3.20', '1.5.0', ['1.5.0-alpine3.20'], ['1.5.0-alpine3.20']],
    ['31.0.9-apache', '32.0.0', [], []],
    // The pull will detect a missing tag.
    ['2025.10', '2025.11.1', null, ['2025.11']],
    // No tag changes.
    ['2025.10', '2025.10.3', [], []],
    ['stable', '2025.11.1', [], []],
  ])('allows an update from %s to %s if the registry has %j', async (pin, to, tags, questions) => {
    const { asked } = await checked(tags, planOf(pin, to));
    expect(asked.toSorted()).toEqual(questions.map((tag) => `acme/home:${tag}`));
  });

  it.each<[string, string, string[] | null, string, string]>([
    [
      '2025.10',
      '2025.11.1',
      ['2025.11.1', '2025.11.0', '2025'],
      'acme/home has no tag 2025.11; 2025.11.1 is published as 2025.11.1 and 2025',
      `Manually set the tag to 2025.11.1 (${place}, image of worker in compose.yaml line 5), then run {compose} pull && {up}.`,
    ],
    [
      '1.4.2-alpine3.20',
      '1.5.0',
      ['1.5.0-alpine3.22', '1.5-alpine3.20', '1.5.0'],
      'acme/home has no tag 1.5.0-alpine3.20; 1.5.0 is published as 1.5-alpine3.20, 1.5.0-alpine3.22 and 1.5.0',
      `Manually set the tag to 1.5.0-alpine3.22 (${place}, image of worker in compose.yaml line 5), then run {compose} pull && {up}.`,
    ],
    [
      '2.7.4-p1',
      '2.8.0',
      ['2.8.0-p3'],
      'acme/home has no tag 2.8.0-p1; 2.8.0 is published as 2.8.0-p3',
      `Manually set the tag to 2.8.0-p3 (${place}, image of worker in compose.yaml line 5), then run {compose} pull && {up}.`,
    ],
    [
      '1.24',
      '1.25.0',
      ['1', 'v1'],
      'acme/home has no tag 1.25',
      'Check that the release is published, then run {command} again.',
    ],
    [
      '31-apache',
      '99.0.0',
      ['31-apache'],
      'acme/home has no tag 99-apache',
      'Check that the release is published, then run {command} again.',
    ],
    [
      '31.0.9-apache',
      '32',
      ['32.0.0-apache', '32-apache', '32.0.0'],
      `32 is not a full release version; app is pinned to 31.0.9-apache (${place}); acme/home has 32.0.0-apache and 32-apache`,
      'Specify the full version, such as --target 32.0.0.',
    ],
    [
      '2025.8.3',
      '2025.9',
      null,
      `2025.9 is not a full release version; app is pinned to 2025.8.3 (${place})`,
      'Specify the full version, such as --target 2025.9.0.',
    ],
  ])('rejects an update from %s to %s if the registry has %j', async (pin, to, tags, message, advice) => {
    await expect(checked(tags, planOf(pin, to))).rejects.toMatchObject({
      code: 'pin-unsupported',
      message,
      advice,
    });
  });
});
