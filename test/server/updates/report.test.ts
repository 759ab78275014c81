import { expect, it } from 'vitest';
import type { Script } from '../../rig/engine-double/script.ts';
import { freshRigs, rig, type Server } from './rig.ts';

freshRigs();

async function booted(): Promise<Server> {
  const one = await rig.server();
  await one.updates.boot();
  return one;
}
const base64 = Buffer.from('an archive').toString('base64');
const pieces: Script = [
  { say: 'svc-report/plan.txt: 100 bytes' },
  { say: `report:${base64.slice(0, 6)}` },
  { say: '! a warning' },
  { say: `report:${base64.slice(6)}` },
];
const reporters = () => rig.engine.containers.filter(({ name }) => name.startsWith('svc-updater-report'));

it('simultaneous requests for a report share one updater', async () => {
  const one = await booted();
  rig.engine.updaterDoes([...pieces, { say: 'report.' }, { exit: 0 }]);
  const commands: unknown[] = [];
  rig.engine.onStart(({ spec }) => void commands.push(spec.Cmd?.slice(0, 2)));
  const [first, second] = await Promise.all([one.updates.createReport(), one.updates.createReport()]);
  expect([Buffer.from(first).toString(), first === second]).toEqual(['an archive', true]);
  expect([commands, reporters()]).toEqual([[['report', '--base64']], []]);
  await one.updates.createReport();
  expect(commands).toHaveLength(2);
});

it('an incomplete report is rejected, and no container remains', async () => {
  const one = await booted();
  rig.engine.updaterDoes([...pieces, { exit: 1 }]);
  await expect(one.updates.createReport()).rejects.toThrow('the report cannot be created');
  expect(reporters()).toEqual([]);
});
