import { setTimeout as sleep } from 'node:timers/promises';
import type { Fault } from './fault.ts';
import { interrupted, places, type Strike } from './interrupted.ts';

// The daemon stops, and its containers keep running.

const killed: Strike = {
  name: 'the daemon is killed',
  act: async ({ engine }, { random }) => {
    await engine.kill();
    await sleep(random.below(3_000));
    await engine.start();
  },
};

const restarted: Strike = {
  name: 'the daemon is restarted',
  act: async ({ engine }, { random }, judge) => {
    await engine.stop();
    await judge();
    await sleep(random.below(1_000));
    await engine.start();
  },
};

const twice: Strike = {
  name: 'the daemon is killed twice',
  act: async ({ engine }, { random }) => {
    for (let times = 0; times < 2; times++) {
      await engine.kill();
      await engine.start();
      await sleep(random.below(2_000));
    }
  },
};

/** Longer than the 60 s that the updater waits. */
const away: Strike = {
  name: 'the daemon stays away for 75 s',
  act: async ({ engine }) => {
    await engine.kill();
    await sleep(75_000);
    await engine.start();
  },
  long: true,
};

export const faults: readonly Fault[] = [
  interrupted('engine', killed, places.pull, [4]),
  interrupted('engine', killed, places.write, [4]),
  interrupted('engine', killed, places.stopping, [6]),
  interrupted('engine', killed, places.recreate, [16, 1]),
  interrupted('engine', killed, places.verify, [4]),
  interrupted('engine', killed, places.anywhere, [8]),
  interrupted('engine', restarted, places.pull, [3]),
  interrupted('engine', restarted, places.write, [3]),
  interrupted('engine', restarted, places.stopping, [3]),
  interrupted('engine', restarted, places.recreate, [8]),
  interrupted('engine', restarted, places.verify, [3]),
  interrupted('engine', twice, places.anywhere, [3]),
  interrupted('engine', away, places.pull, [1]),
  interrupted('engine', away, places.stopping, [1]),
  interrupted('engine', away, places.verify, [1]),
];
