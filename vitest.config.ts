import { basename } from 'node:path';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** By how long they take: a long one that starts last leaves one worker idle. */
const longest = [
  // Unit tests, which run by themselves.
  'gate',
  'executable',
  'main',
  'package',
  'failures',
  'upgrade-path',
  'invalid-responses',
  'replace-files.property',
  'lock',
  // End-to-end tests.
  'documents',
  'platform',
  'serve',
  'exit-codes',
  'rows',
  'refusals',
  'paths',
  'save',
  'rollback',
  'restore-point',
  'drift',
  'chosen-platform',
  'web-flows',
  'server-runs',
  'server-automatic',
  'client',
];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const place = longest.indexOf(basename(moduleId, '.test.ts'));
      return place < 0 ? longest.length : place;
    };
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b));
  }
}

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        test: {
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: [
            'test/e2e/**',
            'test/slow/**',
            'test/swarm/**',
            'test/rig/**',
            'test/frameworks/campaign.test.ts',
          ],
          // No measure of anything: what hangs ends in the end, and a busy machine is no failure.
          testTimeout: 120_000,
          hookTimeout: 120_000,
          expect: { poll: { timeout: 60_000 } },
          // More than one on two cores: what waits leaves its core to the others.
          maxWorkers: 4,
        },
      },
      {
        test: {
          name: 'e2e',
          include: ['test/e2e/**/*.test.ts'],
          globalSetup: ['test/e2e/support/global-setup.ts'],
          testTimeout: 240_000,
          hookTimeout: 300_000,
          expect: { poll: { timeout: 60_000 } },
          fileParallelism: true,
          // More than the cores: what waits for a health check or a stop leaves its core to the others. A fourth one makes
          // the whole no faster on two cores, and gives each test's moments less of them.
          maxWorkers: 3,
        },
      },
      {
        // A campaign: scripts/campaign slow.
        test: {
          name: 'slow',
          include: ['test/slow/**/*.test.ts'],
          globalSetup: ['test/e2e/support/global-setup.ts'],
          testTimeout: 600_000,
          hookTimeout: 600_000,
          expect: { poll: { timeout: 60_000 } },
          maxWorkers: 3,
        },
      },
      {
        // A campaign: scripts/campaign frameworks.
        test: {
          name: 'frameworks',
          include: ['test/frameworks/campaign.test.ts'],
        },
      },
      {
        test: {
          name: 'swarm',
          include: ['test/swarm/**/*.test.ts'],
          globalSetup: ['test/swarm/support/global-setup.ts'],
          testTimeout: 300_000,
          hookTimeout: 300_000,
          expect: { poll: { timeout: 60_000 } },
          // There is one Swarm, whose nodes they kill.
          fileParallelism: false,
        },
      },
    ],
  },
});
