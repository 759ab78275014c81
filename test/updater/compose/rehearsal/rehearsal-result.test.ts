import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { PreparedPlan } from '../../../../src/updater/compose/plan/prepared-plan.ts';
import { hashPlan } from '../../../../src/updater/compose/prepare/hash-plan.ts';
import {
  findRehearsalResult,
  writeRehearsalResult,
} from '../../../../src/updater/compose/rehearsal/rehearsal-result.ts';
import { image } from '../../../build.ts';
import { temporaryDirectory } from '../../../rig/temporary-directory.ts';

const plan = (to: string, id: string, variable = 'a'): PreparedPlan =>
  ({
    to,
    model: { name: 'svc', services: { app: { environment: { A: variable } } } },
    references: new Map([['app', `acme/svc:${to}`]]),
    images: new Map([[`acme/svc:${to}`, image(id)]]),
  }) as unknown as PreparedPlan;

it('finds the result of a rehearsal of the same plan, for seven days', async () => {
  const state = await temporaryDirectory();
  const rehearsed = plan('v2', 'sha256:2');
  const result = {
    plan: hashPlan(rehearsed),
    at: '2026-12-01T03:00:00.000Z',
    isReady: true,
    message: 'ready',
  };
  expect(await findRehearsalResult(state, rehearsed, 0)).toBeNull();
  await writeRehearsalResult(state, result);
  const find = (other: PreparedPlan, at: string) => findRehearsalResult(state, other, Date.parse(at));
  expect(await find(rehearsed, '2026-12-08T02:59:00Z')).toEqual(result);
  expect(await find(rehearsed, '2026-12-08T03:01:00Z')).toBeNull();
  for (const other of [plan('v3', 'sha256:2'), plan('v2', 'sha256:3'), plan('v2', 'sha256:2', 'b')])
    expect(await find(other, '2026-12-01T04:00:00Z')).toBeNull();
  await writeFile(join(state, 'rehearsed.json'), '{"plan":');
  expect(await find(rehearsed, '2026-12-01T04:00:00Z')).toBeNull();
});
