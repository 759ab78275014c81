import { expect, it } from 'vitest';
import { createLibraryMethods } from '../../../src/server/http/library-methods.ts';
import { MemoryService } from './memory-service.ts';

type Method = 'update' | 'rollback' | 'setChannel' | 'skip' | 'setAutomatic';

/** A method called without type checks, as JavaScript can call it, and its service. */
function rig(method: Method): { service: MemoryService; ask: (argument: unknown) => Promise<unknown> } {
  const service = new MemoryService();
  const called: (argument: never) => Promise<unknown> = createLibraryMethods(service, {
    path: '/',
    name: 'svc',
  })[method];
  return { service, ask: (argument) => called(argument as never) };
}

it.each<[Method, unknown, string]>([
  ['setAutomatic', { from: '99:00' }, 'from'],
  ['setAutomatic', { to: '5 am' }, 'to'],
  ['setAutomatic', { timeZone: 'Mars/Olympus' }, 'timeZone'],
  ['setAutomatic', { days: ['someday'] }, 'days[0]'],
  ['setAutomatic', { minAgeHours: Number.NaN }, 'minAgeHours'],
  ['setAutomatic', { enabled: 'yes' }, 'enabled'],
  ['setAutomatic', { enable: true }, 'enable'],
  ['setAutomatic', undefined, 'undefined'],
  ['setChannel', 'nightly', 'channel'],
  ['skip', 5, 'version'],
  ['update', { target: 'latest' }, 'target'],
  ['update', { when: 'later' }, 'when'],
  ['update', { settings: { A: '' } }, 'settings'],
  ['update', { settings: { ['__proto__']: 'x' } }, 'settings'],
  ['update', { settings: { A: 'two\nlines' } }, 'settings'],
  ['update', { force: 1 }, 'force'],
  ['update', { when: 'idle', force: true }, 'cannot be combined'],
  ['rollback', {}, 'confirm'],
])('%s(%j) throws and changes nothing', async (method, argument, mistake) => {
  const { service, ask } = rig(method);
  const error = await ask(argument).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(TypeError);
  expect((error as Error).message).toMatch(/^svc-updater: /);
  expect((error as Error).message).toContain(mistake);
  expect(service.calls).toEqual([]);
});

it.each<[Method, unknown, string]>([
  ['setAutomatic', { from: '23:00', days: undefined }, 'automatic {"from":"23:00"}'],
  ['setChannel', 'canary', 'channel canary'],
  ['skip', null, 'skip null'],
  ['update', undefined, 'start null for svc'],
  ['update', { target: 'v1.6.0-canary.3', by: 'anna' }, 'start canary for anna'],
  ['update', { target: undefined, when: 'idle', allSteps: true }, 'start null when idle all the way for svc'],
  ['rollback', { confirm: 'v1.4.1', force: true, by: 'ben' }, 'rollback v1.4.1 by force for ben'],
])('%s(%j) calls the service', async (method, argument, asked) => {
  const { service, ask } = rig(method);
  await ask(argument);
  expect(service.calls).toEqual([asked]);
});
