import { afterEach, expect, it } from 'vitest';
import { Log } from '../../../src/agent/log/log.ts';
import { Cancellation } from '../../../src/agent/process/cancellation.ts';
import { Engine } from '../../../src/engine/cli/engine.ts';

const address = { host: 'unix:///nonexistent', tls: [], configDirectory: '/nonexistent' };

afterEach(() => {
  process.removeAllListeners('SIGTERM');
  process.removeAllListeners('SIGINT');
});

it('lets a signal end what comes after a shielded work that failed', async () => {
  const cancellation = new Cancellation(new Log(() => {}));
  const engine = new Engine(address, { home: '/', signal: cancellation.signal });
  const failing = async () => {
    throw new Error('the files could not be put back');
  };
  await expect(cancellation.shield(engine, failing)).rejects.toThrow('could not be put back');
  expect(engine.aborted.aborted).toBe(false);
  process.emit('SIGTERM');
  expect(engine.aborted.aborted).toBe(true);
});
