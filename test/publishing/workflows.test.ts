import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { read, root } from '../documents/documents.ts';

interface Step {
  uses?: string;
  run?: string;
  with?: Record<string, unknown>;
  env?: Record<string, string>;
}
interface Job {
  permissions?: Record<string, string>;
  environment?: string;
  'timeout-minutes'?: number;
  steps: Step[];
}
interface Workflow {
  on: Record<string, unknown>;
  permissions: Record<string, string>;
  jobs: Record<string, Job>;
}

const folder = '.github/workflows';
const names = readdirSync(join(root, folder));
const workflowAt = (name: string): Workflow => parse(read(`${folder}/${name}`));

describe.each(names)('the workflow %s', (name) => {
  const text = read(`${folder}/${name}`);
  const { on, permissions, jobs } = workflowAt(name);
  const steps = Object.values(jobs).flatMap((job) => job.steps);

  it('pins each action to the same commit hash as other workflows, with its version in a comment', () => {
    const used = steps.flatMap(({ uses }) => uses ?? []);
    expect(used.length).toBeGreaterThan(0);
    for (const action of used) {
      expect(action).toMatch(/^(?:actions|sigstore)\/[a-z-]+@[0-9a-f]{40}$/);
      expect(text).toMatch(new RegExp(`- uses: ${action} # v\\d+\\.\\d+\\.\\d+\n`));
      const [ours = ''] = action.split('@');
      for (const other of names)
        for (const [found] of read(`${folder}/${other}`).matchAll(new RegExp(`${ours}@.*`, 'g')))
          expect(text).toContain(found);
    }
  });

  it('runs only scripts of this repository', () => {
    const runs = steps.flatMap(({ run }) => run ?? []);
    expect(runs.length).toBeGreaterThan(0);
    for (const run of runs) {
      const [, script = ''] =
        /^(?:sudo --preserve-env=PATH )?((?:\.ci|scripts)\/[a-z-]+)(?: --?[a-z-]+)*(?: \$\{\{ matrix\.campaign \}\})?$/.exec(
          run,
        ) ?? [];
      expect(existsSync(join(root, script)) && script, run).toBeTruthy();
    }
    // No text of an event becomes part of a command.
    const filledIn = [...text.matchAll(/\$\{\{ *(.*?) *\}\}/g)].map(([, what]) => what);
    const known: Record<string, string[]> = {
      'release.yml': ['github.token'],
      // A value of the workflow's own list.
      'campaigns.yml': ['matrix.campaign'],
    };
    expect(filledIn).toEqual(known[name] ?? []);
  });

  it('sets timeouts, and grants more than read permission only to the release job', () => {
    expect(permissions).toEqual({ contents: 'read' });
    for (const job of Object.values(jobs)) {
      expect(job['timeout-minutes']).toBeGreaterThan(0);
      if (name !== 'release.yml') expect(job).not.toHaveProperty('permissions');
    }
    for (const { uses, with: given } of steps)
      if (uses?.startsWith('actions/checkout@'))
        expect(given).toMatchObject({ 'persist-credentials': false });
    expect(Object.keys(on)).not.toContain('pull_request_target');
  });
});

it('the release workflow runs only for tags, in a single job that requires an approval', () => {
  const { on, jobs } = workflowAt('release.yml');
  expect(on).toEqual({ push: { tags: ['v*'] } });
  expect(Object.keys(jobs)).toEqual(['release']);
  expect(jobs.release).toMatchObject({ environment: 'release' });
  expect(jobs.release?.permissions).toEqual({ contents: 'write', packages: 'write', 'id-token': 'write' });
  expect(jobs.release?.steps.at(-1)?.run).toBe('scripts/publish');
});
