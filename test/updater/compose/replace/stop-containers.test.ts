import { expect, it } from 'vitest';
import {
  renameContainers,
  startContainers,
} from '../../../../src/updater/compose/replace/stop-containers.ts';
import { container } from '../../../build.ts';
import { engineThat, rememberingLog } from '../../../build-plan.ts';

/** An engine that rejects requests for the container `bad`. */
const halfEngine = () =>
  engineThat((from, to) => {
    if (from.url?.includes('bad')) to.writeHead(500).end('{"message":"no such device"}');
    else to.writeHead(204).end();
  });

it('logs a container as started only if it did start', async () => {
  const { log, lines } = rememberingLog();
  const engine = await halfEngine();
  await startContainers({ engine, log }, [
    { id: 'bad', name: 'svc-worker-1' },
    { id: 'good', name: 'svc-app-1' },
  ]);
  expect(lines).toEqual([
    'warn: svc-worker-1, created by another docker compose command, did not start: no such device',
    'warn: started svc-app-1, because another docker compose command was interrupted before it could do so',
  ]);
});

it('logs a container as renamed only if the engine renamed it', async () => {
  const { log, lines } = rememberingLog();
  const engine = await halfEngine();
  const names = ['bad', 'good'].map((id) => container('app-1', { id, name: `0123456789ab_svc-${id}-1` }));
  await renameContainers({ engine, log }, names);
  expect(lines).toEqual([expect.stringContaining('renamed 0123456789ab_svc-good-1 to svc-good-1')]);
});
