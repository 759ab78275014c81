import { type Rig, until } from './rig.ts';

const quietMs = 150;

/** Checks the invariants of an instance after a run, whatever has failed. Returns the violations as texts. */
export async function judge(rig: Rig, { accepted }: { accepted: boolean | null }): Promise<string[]> {
  const found = [...rig.state.violations];
  const say = (bad: unknown, what: string) => {
    if (bad) found.push(what);
  };
  await quiet(rig).catch(() => {});
  say(rig.open, `a run is still open: ${JSON.stringify(rig.open?.run.state)}`);
  say(rig.state.isHeld, 'the queue is still held');
  say(
    rig.past.some(({ told, attempts }) => !told && attempts < 3),
    'an end was not told',
  );
  if (accepted === true) say(rig.past.length !== 1, `there are ${rig.past.length} past runs`);
  if (accepted === false) say(rig.past.length > 0, 'a refused request is a past run');
  for (const { run } of rig.past) {
    const ends = rig.ends.filter(({ id }) => id === run.id);
    say(ends.length === 0 || ends.length > 3, `${run.outcome} was told ${ends.length} times`);
  }
  const updaters = rig.engine.containers.filter((one) => rig.engine.isUpdater(one));
  say(updaters.length > 1, `there are ${updaters.length} updaters`);
  say(
    updaters.some(({ status }) => status === 'created'),
    'an updater lies there that may be started later',
  );
  if (accepted === false) say(updaters.length > 0, 'an updater ran for a refused request');
  const outcome = rig.past[0]?.run.outcome;
  say(
    updaters.some(({ exitCode }) => exitCode === 0) && outcome !== 'updated',
    `it was updated, and the end says ${outcome}`,
  );
  say(outcome === 'updated' && updaters.length === 0, 'the end says updated, and nothing ran');
  for (const reason of rig.rejections) found.push(`unhandled: ${(reason as Error)?.stack ?? reason}`);
  return found;
}

/** Waits until no queue is held and no run is open for a while, so that hanging calls can finish, too. */
export async function quiet(rig: Rig): Promise<void> {
  let since = Number.POSITIVE_INFINITY;
  await until(() => {
    since = isQuiet(rig) ? Math.min(since, performance.now()) : Number.POSITIVE_INFINITY;
    return performance.now() - since > quietMs;
  });
}

const isQuiet = (rig: Rig): boolean =>
  rig.open === null && !rig.state.isHeld && rig.past.every(({ told, attempts }) => told || attempts >= 3);
