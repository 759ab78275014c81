import { describe, expect, it } from 'vitest';
import { follow } from '../server/http/follow-events.ts';
import type { Framework } from './frameworks.ts';
import { exampleOf, type Project, withProject } from './project.ts';

/** Milliseconds, for a busy machine. */
export const timeout = 1_200_000;

/** Tests an example of docs/frameworks/README.md. */
export function tryFramework(framework: Framework, { withHotReload }: { withHotReload: boolean }): void {
  const { name, start, dev } = framework;
  describe(name, () => {
    it('takes at most 25 lines', () => {
      const files = Object.values(exampleOf(name));
      expect(files.length).toBeGreaterThan(0);
      expect(files.join('').trimEnd().split('\n').length).toBeLessThanOrEqual(25);
    });

    it('builds, stops on SIGTERM during an update, and continues it after a restart', { timeout }, () =>
      withProject(framework, async (project) => {
        await project.build();
        // A build must not start an instance.
        expect(await project.calls()).toEqual([]);
        await project.start(start);
        expect((await project.ask('', { headers: { Authorization: '' } })).status).toBe(401);
        await beginUpdate(project);
        await expectOneStart(project);
        expect(await project.stop()).toBe(0);
        project.finishUpdate();
        await project.start(start);
        const [run] = (await (await project.ask('/history')).json()) as { outcome: string }[];
        expect(run?.outcome).toBe('updated');
        await project.until(
          async () => (await project.calls()).filter((call) => call !== 'jobs').at(-1) === 'resume',
        );
      }),
    );

    if (dev && withHotReload)
      it('has one instance after a hot reload', { timeout }, () =>
        withProject(framework, async (project) => {
          await project.start(dev);
          await project.edit('updates.ts');
          const stream = await beginUpdate(project);
          await expectOneStart(project);
          project.finishUpdate();
          await stream.rest();
          expect(stream.runs.at(-1)?.outcome).toBe('updated');
        }),
      );
  });
}

/** Starts an update and follows it until the updater is working. */
async function beginUpdate(project: Project): Promise<ReturnType<typeof follow>> {
  const order = {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: '{"target":"v1.5.0"}',
  };
  const started = await project.ask('', order);
  expect(started.status, await started.text()).toBe(202);
  const { body } = await project.ask('/progress', { headers: { Accept: 'text/event-stream' } });
  const stream = follow(body);
  for (let told = ''; !/^line .* app healthy/.test(told); told = await stream.next()) {
    if (told === 'end') throw new Error(`the update ended: ${JSON.stringify(stream.runs.at(-1))}`);
  }
  return stream;
}

/** Each instance releases the queue once, at its start. */
async function expectOneStart(project: Project): Promise<void> {
  const calls = await project.calls();
  expect(calls.filter((call) => call === 'resume')).toHaveLength(1);
  expect(calls.at(-1)).toBe('hold');
}
