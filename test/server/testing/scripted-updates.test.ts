import { afterEach, describe, expect, it } from 'vitest';
import {
  createScriptedUpdates,
  type InstanceUpdates,
  type Script,
  typicalRun,
} from '../../../src/server/testing/index.ts';
import { phaseNames, runOutcomes } from '../../../src/wire/codes.ts';
import type { Run } from '../../../src/wire/status.ts';
import { check, origin, path } from '../http/send-request.ts';

let updates: InstanceUpdates | undefined;
afterEach(() => updates?.close());

async function play(script: Script = {}) {
  const playing = createScriptedUpdates({ speed: 100, ...script });
  updates = playing;
  await playing.start();
  const ended = new Promise<Run>((resolve) => playing.on('end', resolve));
  /** Sends a request, and checks the response against the document. */
  const ask = async (method: string, where = '', headers: Record<string, string> = {}) => {
    const response = await playing.handle(new Request(`${origin}${path}${where}`, { method, headers }));
    return check(method, new URL(`${origin}${path}${where}`).pathname, response);
  };
  return { playing, ended, ask };
}

const withoutSave = phaseNames.filter((word) => word !== 'save');

describe('a script', () => {
  it('plays an update through every state', async () => {
    const { ask, ended } = await play();
    expect((await ask('GET')).json).toMatchObject({ version: 'v1.4.2', canUpdate: true, run: null });
    expect((await ask('GET', '?notes=1')).json).toMatchObject({ releases: [{ version: 'v1.5.0' }] });
    expect((await ask('GET')).json.latest.notes).toBeNull();
    expect((await ask('POST')).json).toMatchObject({ id: 'run1', state: 'launching', by: 'admin' });
    const run = await ended;
    expect(run).toMatchObject({ outcome: 'updated', from: 'v1.4.2', to: 'v1.5.0', downtimeSeconds: 2 });
    expect(run.steps.map(({ state }) => state)).toEqual(['launching', ...withoutSave]);
    const { json } = await ask('GET');
    expect(json).toMatchObject({
      version: 'v1.5.0',
      next: null,
      upToDate: { code: 'newest' },
      run: { id: 'run1' },
    });
    expect((await ask('GET', '/history')).json).toHaveLength(1);
    expect((await ask('POST')).json.reason.code).toBe('up-to-date');
  });

  it('ends a recall and an urgent update when another version is running', async () => {
    const recalled = { version: 'v1.4.2', why: 'It deletes backups.', url: null };
    const urgent = { below: 'v1.5.0', why: 'Sessions can be stolen.' };
    const rollback = { from: null, to: 'v1.4.1', at: '2026-11-20T10:00:00.000Z', downtimeSeconds: null };
    const { ask, playing } = await play({ status: { recalled, urgent }, rollback });
    const endOf = () => new Promise((resolve) => playing.on('end', resolve));
    expect((await ask('GET')).json).toMatchObject({ recalled, urgent });
    const rolledBack = endOf();
    await playing.rollback({ confirm: 'v1.4.1', by: 'anna' });
    await rolledBack;
    expect((await ask('GET')).json).toMatchObject({ version: 'v1.4.1', recalled: null, urgent });
    const updated = endOf();
    await ask('POST');
    await updated;
    expect((await ask('GET')).json).toMatchObject({ version: 'v1.5.0', recalled: null, urgent: null });
  });

  it.each(runOutcomes)('ends with the scripted outcome %s', async (outcome) => {
    const why = {
      cause: 'the registry has no such tag',
      code: 'pull-unknown',
      advice: 'See that it is published.',
    };
    const isGood = outcome === 'updated' || outcome === 'unchanged';
    const script = typicalRun({
      outcome,
      ...(isGood ? {} : { in: 'pull', message: 'v1.4.2 runs on', ...why }),
    });
    const { ask, ended, playing } = await play({ runs: [script] });
    const phases: string[] = [];
    playing.on('line', ({ line }) => phases.push(line.phase));
    await ask('POST');
    const run = await ended;
    // A crashed updater has not reported an outcome.
    expect(phases.includes('done')).toBe(outcome !== 'crashed');
    expect(run).toMatchObject({
      outcome,
      state: outcome,
      ...(isGood ? {} : { message: 'v1.4.2 runs on', ...why }),
    });
    expect(run.steps.at(-1)?.state).toBe(isGood ? 'verify' : 'pull');
    expect((await ask('GET', '/progress')).json).toMatchObject({ outcome });
    // The same target is accepted again, unless it was installed.
    expect((await ask('GET')).json.canUpdate).toBe(outcome !== 'updated');
  });
});
