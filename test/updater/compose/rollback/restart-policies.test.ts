import { expect, it } from 'vitest';
import { restartDataServices } from '../../../../src/updater/compose/rollback/restore-data.ts';
import { Journal } from '../../../../src/updater/run/state/journal.ts';
import { changeover, journalData } from '../../../build.ts';
import { engineThat, runContext } from '../../../build-plan.ts';

it('logs each restart policy that the engine did not restore, and ignores removed containers', async () => {
  const asked: string[] = [];
  const engine = await engineThat((from, to) => {
    const [, id = ''] = /^\/containers\/(\w+)\/update$/.exec(from.url ?? '') ?? [];
    asked.push(id);
    if (id === 'gone') to.writeHead(404).end('{"message":"No such container: gone"}');
    else if (id === 'bad') to.writeHead(500).end('{"message":"cannot update a container"}');
    else to.end('[]');
  });
  const { context, lines } = runContext(engine);
  const point = {
    directory: '/nonexistent',
    state: 'saved' as const,
    services: [],
    riders: [],
    ports: [],
    inMemory: [],
    policies: ['gone', 'bad', 'good'].map((id) => ({ id, policy: 'on-failure:3' })),
    isChecked: true,
  };
  const state = { at: 'replacing' } as const;
  const journal = new Journal(
    { state: '/nonexistent', restore: async () => {} },
    journalData({ point, state, changeover: changeover() }),
  );
  await restartDataServices({ ...context, journal });
  expect(asked.slice(0, 3)).toEqual(['gone', 'bad', 'good']);
  expect(lines).toEqual(['warn: docker update --restart=on-failure:3 bad failed: cannot update a container']);
});
