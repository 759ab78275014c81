import { setTimeout as sleep } from 'node:timers/promises';
import type { Fault } from './fault.ts';
import { interrupted, places, type Strike } from './interrupted.ts';

// The daemon, its containerd, the shims and all containers are killed at the same moment.

const cut: Strike = {
  name: 'the power fails',
  act: async ({ engine }, _, judge) => {
    await engine.cut();
    await judge();
    await engine.start();
  },
};

const cutTwice: Strike = {
  name: 'the power fails, and again as everything comes up',
  act: async ({ engine }, { random }, judge) => {
    await engine.cut();
    await judge();
    await engine.start();
    await sleep(random.below(2_500));
    await engine.cut();
    await judge();
    await engine.start();
  },
};

export const faults: readonly Fault[] = [
  interrupted('power', cut, places.pull, [4]),
  interrupted('power', cut, places.write, [28]),
  interrupted('power', cut, places.stopping, [4]),
  interrupted('power', cut, places.recreate, [16, 1]),
  interrupted('power', cut, places.verify, [4]),
  interrupted('power', cut, places.anywhere, [10]),
  interrupted('power', cutTwice, places.anywhere, [6]),
];
