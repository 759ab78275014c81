import { expect, it } from 'vitest';
import { gateFrameworks } from './frameworks.ts';
import { exampleOf, withProject } from './project.ts';
import { timeout, tryFramework } from './try-framework.ts';

// Hot reload needs watchers and is left to the campaign, except for what all examples have in common.
for (const framework of gateFrameworks) tryFramework(framework, { withHotReload: false });

it('the shared file of all examples has at most 25 lines', () => {
  const { 'updates.ts': shared = '' } = exampleOf(null);
  expect(shared).toContain('createInstanceUpdates');
  expect(shared.trimEnd().split('\n').length).toBeLessThanOrEqual(25);
});

it('the shared file of all examples exports the same instance when it is evaluated again', { timeout }, () =>
  withProject(gateFrameworks[0], async (project) => {
    const code = `const { updates } = await import('./updates.ts');
const again = await import('./updates.ts?again');
console.log(updates === again.updates);
process.exit();`;
    expect(await project.run(['node', '--input-type=module', '--eval', code])).toBe('true');
  }),
);
