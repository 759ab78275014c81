import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { judgeUntouched, judgeUpdated } from '../judge/judge.ts';
import { judgeWords } from '../judge/log.ts';
import { look } from '../judge/look.ts';
import { type BadEngine, startBadEngine } from '../rig/bad-engine.ts';
import { askEngine } from '../rig/engine-api.ts';
import { shareInstance } from './support/attempt.ts';

// docs/contract.md 2.8: missing images are pulled during the checks that may refuse the update.

const toNext = ['--target', 'v1.1.0'];
const shared = shareInstance({});

let engine: BadEngine;
let socket = '';
beforeAll(async () => {
  socket = `${shared().directory}.sock`;
  engine = await startBadEngine(socket);
});
afterAll(() => engine.close());
beforeEach(() => {
  engine.requests.length = 0;
});

/** Requests of the drift check, which are repeated if the engine fails. */
const isOfDrift = (asked: string) => asked === 'GET /info';
const isPull = (asked: string) => /^POST \S*\/images\/create\?/.test(asked);

/** Delays requests of the drift check until the condition holds, and then fails them. */
const failOnce = (isSo: () => boolean) =>
  engine.fail(async (asked) => {
    if (!isOfDrift(asked) || isSo()) return false;
    while (!isSo()) await sleep(20);
    return true;
  });

/** Whether a pull started before the drift check was complete. */
const wasBeside = () =>
  engine.requests.findIndex(isPull) >= 0 &&
  engine.requests.findIndex(isPull) < engine.requests.findLastIndex(isOfDrift);

test('a refused update cancels a pull in progress and changes nothing', async () => {
  const instance = shared();
  const text = await instance.read('compose.prod.yaml');
  await instance.write('compose.prod.yaml', text.replace('./data:/data', './other:/data'));
  const before = await look(instance);
  engine.hang(/^POST \S*\/images\/create\?/);
  failOnce(() => engine.requests.some(isPull));
  const result = await instance.update(toNext, { socket });
  engine.hang(null);
  engine.fail(null);
  const after = await look(instance);
  await instance.write('compose.prod.yaml', text);
  const ends = [/^refused \(drift\): nothing was changed; v1\.0\.0 is still running\./];
  const facts = [
    ...judgeWords(result, { exitCode: 3, says: ['/other'], ends, never: [/Z \w+ +pull /] }),
    ...judgeUntouched(before, after),
  ];
  expect(facts, result.log).toEqual([]);
  expect(wasBeside(), engine.requests.join('\n')).toBe(true);
});

test('an image pulled early is not pulled again, is reported in the pull phase, and its tag is not restored by a rollback', async () => {
  const instance = shared();
  const before = await look(instance);
  const path = `/images/${encodeURIComponent(`${instance.image}:v1.1.0`)}/json`;
  let isHere = false;
  failOnce(() => isHere);
  const running = instance.startUpdate(toNext, { socket });
  await expect.poll(async () => (await askEngine('GET', path)).status, { timeout: 120_000 }).toBe(200);
  isHere = true;
  const result = await running.done;
  engine.fail(null);
  const changed = { '.env': (old: string) => old.replace('v1.0.0', 'v1.1.0') };
  const facts = [
    ...judgeWords(result, {
      exitCode: 0,
      says: [/Z INFO {2}plan v1\.0\.0 → v1\.1\.0[\s\S]*Z INFO {2}pull 100% pulled \S+:v1\.1\.0/],
      ends: ['updated v1.0.0 → v1.1.0'],
    }),
    ...judgeUpdated(before, await look(instance), { version: 'v1.1.0', changed }),
  ];
  expect(facts, result.log).toEqual([]);
  expect(wasBeside(), engine.requests.join('\n')).toBe(true);
  expect(engine.requests.filter(isPull)).toHaveLength(1);
  const journal = await readFile(join(instance.directory, '.svc-updater', 'journal.json'), 'utf8');
  expect(JSON.parse(journal)).toMatchObject({ tags: [] });
});
