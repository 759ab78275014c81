import { afterEach, beforeEach, expect, it } from 'vitest';
import { Engine } from '../../../src/engine/cli/engine.ts';
import { Cancellation } from '../../../src/updater/run/cancellation.ts';
import { Log } from '../../../src/updater/run/log/run-log.ts';

const address = { host: 'unix:///nonexistent', tls: [], configDirectory: '/nonexistent' };

let lines: string[];
let cancellation: Cancellation;
let engine: Engine;

beforeEach(() => {
  lines = [];
  cancellation = new Cancellation(new Log(({ message }) => lines.push(message)));
  engine = new Engine(address, { home: '/', signal: cancellation.signal });
});
afterEach(() => {
  process.removeAllListeners('SIGTERM');
  process.removeAllListeners('SIGINT');
});

it('aborts requests of the engine on SIGTERM, but not those of an uncancellable engine', () => {
  const shielded = engine.uncancellable();
  process.emit('SIGTERM');
  expect(engine.aborted.aborted).toBe(true);
  expect(shielded.aborted.aborted).toBe(false);
  expect(cancellation.signalNumber).toBe(15);
});

it('only logs a late signal, and logs nothing after the last line of the run', () => {
  cancellation.disable();
  process.emit('SIGTERM');
  expect(lines).toEqual([
    'SIGTERM was received too late: containers are already being replaced, so the update continues',
  ]);
  expect(cancellation.signal.aborted).toBe(false);
  cancellation.stopLogging();
  process.emit('SIGTERM');
  expect(lines).toHaveLength(1);
});

it('reports only the first signal', () => {
  const told: number[] = [];
  cancellation.onFirstSignal = () => told.push(1);
  process.emit('SIGINT');
  process.emit('SIGTERM');
  expect(told).toEqual([1]);
  expect(cancellation.signalNumber).toBe(2);
});
