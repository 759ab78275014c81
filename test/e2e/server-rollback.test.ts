import { expect, it } from 'vitest';
import { estimateUpdateSeconds } from '../../src/server/available-update/estimate-seconds.ts';
import type { Run } from '../../src/wire/status.ts';
import { updatePath } from '../rig/server/server-instance.ts';
import { ownData } from './support/own-data.ts';
import { createServerInstance, waitForEnd, waitForStatus } from './support/server.ts';

// A rollback that an admin starts, if the store of the server is in the restored data (docs/contract.md 8.18).

it('a rollback restores the store, and the history keeps the result of the update', async () => {
  const instance = await createServerInstance({
    layout: ownData,
    up: ['--no-deps', 'app', 'worker', 'db'],
    settings: { RESTORE_POINT: '1' },
  });
  await instance.offer('v1.1.0');
  await instance.status({ refresh: true });
  expect((await instance.startUpdateOverHttp()).status).toBe(202);
  await waitForStatus(instance, ({ version, run }) => version === 'v1.1.0' && run?.endedAt != null);
  const update = await waitForEnd(instance);
  expect(update).toMatchObject({ outcome: 'updated', downtimeSeconds: expect.any(Number) });

  const body = JSON.stringify({ confirm: 'v1.0.0' });
  const headers = { 'content-type': 'application/json' };
  const answer = await instance.ask(`${updatePath}/rollback`, { method: 'POST', body, headers });
  const started = (await answer.json()) as Run;
  expect(started).toMatchObject({ kind: 'rollback', to: 'v1.0.0' });
  const isOver = ({ version, run }: { version: string; run: Run | null }) =>
    version === 'v1.0.0' && run?.id === started.id && run.endedAt !== null;
  await waitForStatus(instance, isOver);
  expect(await waitForEnd(instance)).toMatchObject({ outcome: 'updated', startedAt: started.startedAt });
  const [, ...others] = await instance.history();
  expect(others).toEqual([update]);
  const { next } = await instance.status({ refresh: true });
  const estimate = estimateUpdateSeconds([update], { isReady: next?.downloaded === true });
  expect(estimate).toBeGreaterThan(0);
  expect(next?.estimatedSeconds).toBe(estimate);
});
