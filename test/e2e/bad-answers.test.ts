import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { judgeBroughtBack, judgeUntouched, judgeUpdated } from '../judge/judge.ts';
import { type ExpectedWords, judgeWords } from '../judge/log.ts';
import { look } from '../judge/look.ts';
import { type BadEngine, startBadEngine } from '../rig/bad-engine.ts';
import type { UpdateResult } from '../rig/updater-run.ts';
import { shareInstance } from './support/attempt.ts';
import { alone, createInstance, type Instance } from './support/instance.ts';

// docs/contract.md 2.15: if the engine cannot report on an object, the object may still exist. Compose uses the same
// engine, with API paths that contain a version.

const toNext = ['--target', 'v1.1.0'];
const changed = { '.env': (text: string) => text.replace('v1.0.0', 'v1.1.0') };

const shared = shareInstance({ ...alone, publish: ['v1.1.0', 'v1.1.3'] });
let engine: BadEngine;
let socket = '';
beforeAll(async () => {
  socket = `${shared().directory}.sock`;
  engine = await startBadEngine(socket);
});
afterAll(() => engine.close());

/**
 * Runs the updater with an engine that fails the requests that `which` selects. `isReplacingOrVerifying` is true from the first
 * stop request, because the log may arrive later.
 */
async function failing(
  instance: Instance,
  args: readonly string[],
  which: (asked: string, isReplacing: boolean) => boolean,
): Promise<UpdateResult> {
  let isReplacing = false;
  engine.fail((asked) => {
    isReplacing ||= /^POST \/containers\/\w+\/stop/.test(asked);
    return which(asked, isReplacing);
  });
  return instance.update(args, { socket }).finally(() => engine.fail(null));
}

describe('an update with an engine that returns status 500', () => {
  const runsAgain = /^failed \([a-z-]+\): the original files are in place, and v1\.0\.0 is running again\./;
  const never = [/recreated \S+worker-1/, /no longer exists/, /another process/];

  test('for a stop request fails, and the old version is running again', async () => {
    const instance = shared();
    const before = await look(instance);
    let refusals = 1;
    const result = await failing(
      instance,
      toNext,
      (asked) => /^POST \/containers\/\w+\/stop/.test(asked) && refusals-- > 0,
    );
    const words: ExpectedWords = {
      exitCode: 4,
      says: ['the engine failed to stop'],
      ends: [runsAgain],
      never,
    };
    const facts = [...judgeWords(result, words), ...judgeBroughtBack(before, await look(instance))];
    expect(facts, result.log).toEqual([]);
  });

  test('for the copy of a file into a container fails before any container is stopped', async () => {
    // Engine 29.7.0 fails this request; compose copies inline secrets into each container that it creates.
    const instance = await createInstance({
      ...alone,
      text: {
        extra: { app: 'secrets: [inline]' },
        tail: 'secrets: { inline: { environment: DB_PASSWORD } }\n',
      },
    });
    const before = await look(instance);
    const isCopy = (asked: string) => /^PUT \S*\/containers\/\w+\/archive/.test(asked);
    const result = await failing(instance, toNext, isCopy);
    const words: ExpectedWords = {
      exitCode: 4,
      says: [`failed to copy /run/secrets/inline into a container like ${instance.project}-app-1: `],
      ends: ['failed (engine-unavailable): nothing', 'Update the engine'],
      never: [/stopping worker/],
    };
    const facts = [...judgeWords(result, words), ...judgeUntouched(before, await look(instance))];
    expect(facts, result.log).toEqual([]);
    const next = await instance.update(toNext);
    expect(next.exitCode, next.log).toBe(0);
  });

  test('for every inspection of a new container is broken, and the started version is not rolled back', async () => {
    const instance = shared();
    const before = await look(instance);
    const known = new Set(Object.values(before.containers).map(({ id }) => id));
    const result = await failing(instance, toNext, (asked, isReplacing) => {
      const id = /^GET \/containers\/([0-9a-f]{64})\/json/.exec(asked)?.[1];
      if (id === undefined || known.has(id)) return false;
      // Containers inspected before the replacement, such as the updater's own, are not new.
      if (!isReplacing) known.add(id);
      return isReplacing;
    });
    const words: ExpectedWords = {
      exitCode: 5,
      says: [],
      ends: [/^broken \([a-z-]+\): /],
      never: [...never, /restoring the old version/, /is running again/],
    };
    expect(judgeWords(result, words), result.log).toEqual([]);
    const boots = async () => (await instance.boots()).slice(before.boots.length);
    await expect.poll(boots, { message: result.log }).toEqual(['app v1.1.0']);

    const next = await instance.update(toNext);
    const good: ExpectedWords = { exitCode: 0, says: ['did not succeed (broken)'], ends: ['v1.1.0'], never };
    const facts = [
      ...judgeWords(next, good),
      ...judgeUpdated(before, await look(instance), { version: 'v1.1.0', changed }),
    ];
    expect(facts, next.log).toEqual([]);
  });
});
