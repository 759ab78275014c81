import { describe, expect, it } from 'vitest';
import { checkPublished } from '../../../src/agent/plan/check-published.ts';
import type { UpdatePlan } from '../../../src/agent/plan/plan-update.ts';
import { composeText, installed, judgedBeside, planTo } from '../../build-plan.ts';

/** Judged beside a registry that has these tags; null where it tells nothing. */
const judged = (tags: readonly string[] | null, plan: UpdatePlan) =>
  judgedBeside(
    (tag) => (tags === null ? null : tags.includes(tag) ? { digest: `sha256:${tag}` } : 'none'),
    (published) => checkPublished(plan, published),
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
    // The pull will tell.
    ['2025.10', '2025.11.1', null, ['2025.11']],
    // Nothing moves, or to a whole release, of which the pull tells.
    ['2025.10', '2025.10.3', [], []],
    ['stable', '2025.11.1', [], []],
  ])('goes on from %s to %s where the registry has %j', (pin, to, tags, questions) => {
    const { asked } = judged(tags, planOf(pin, to));
    expect(asked.toSorted()).toEqual(questions.map((tag) => `acme/home:${tag}`));
  });

  it.each<[string, string, string[] | null, string, string]>([
    [
      '2025.10',
      '2025.11.1',
      ['2025.11.1', '2025.11.0', '2025'],
      'acme/home has no 2025.11; of 2025.11.1 it has 2025.11.1 and 2025',
      `Write 2025.11.1 by hand (${place}), then docker compose pull && docker compose up -d.`,
    ],
    [
      '31-apache',
      '99.0.0',
      ['31-apache'],
      'acme/home has no 99-apache',
      'See that the release is published, then run the update again.',
    ],
    [
      '31.0.9-apache',
      '32',
      ['32.0.0-apache', '32-apache', '32.0.0'],
      `32 does not say which release app goes to, which is at 31.0.9-apache (${place}); acme/home has 32.0.0-apache and 32-apache`,
      'Name the release in full, such as --target 32.0.0.',
    ],
    [
      '2025.8.3',
      '2025.9',
      null,
      `2025.9 does not say which release app goes to, which is at 2025.8.3 (${place})`,
      'Name the release in full, such as --target 2025.9.0.',
    ],
  ])('refuses to go from %s to %s where the registry has %j', (pin, to, tags, message, advice) => {
    expect(() => judged(tags, planOf(pin, to))).toThrow(
      expect.objectContaining({ code: 'pin-unsupported', message, advice }),
    );
  });
});
