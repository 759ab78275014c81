import { expectThat, Lost } from '../faults/fault.ts';
import type { BedInstance } from './bed-instance.ts';
import { judgeKept } from './judge/kept.ts';
import { type Acknowledged, judgeLive } from './judge/live.ts';
import { judge, type Look, look } from './judge/look.ts';

/** App and worker of that version write; gives what the witness knows by then. */
export async function settled(instance: BedInstance, version: string): Promise<Acknowledged> {
  const before = await instance.acknowledged();
  await instance.setGate('open');
  await instance.awaitWrites(before, version);
  return instance.acknowledged();
}

/** A look before an update. From here on a process that starts waits at the gate; the others write on unless all are paused. */
export async function held(instance: BedInstance, isPaused: boolean): Promise<Look> {
  await instance.pause();
  const before = await look(instance, !isPaused);
  if (isPaused) return before;
  const known = await instance.acknowledged();
  await instance.setGate('hold');
  await instance.awaitWrites(known, 'v1.0.0');
  return before;
}

/** Everything is as it was in `before`; then the old version answers, and writes. @param points restore points that are left */
export async function expectBack(
  instance: BedInstance,
  before: Look,
  isPaused: boolean,
  known: Acknowledged,
  points = 1,
): Promise<void> {
  const [after, live, kept] = await Promise.all([
    look(instance, !isPaused),
    instance.acknowledged().then((acknowledged) => judgeLive(instance, acknowledged)),
    judgeKept(instance, points),
  ]);
  const facts = [...judge(before, after), ...live, ...kept];
  if (facts.length > 0) throw new Lost(facts);
  const version = await instance.version();
  expectThat(version === 'v1.0.0', `app answers ${version}, not v1.0.0`);
  const all = { ...known, ...(await instance.acknowledged()) };
  await instance.setGate('open');
  await instance.awaitWrites(all, 'v1.0.0');
}
