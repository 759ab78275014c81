import type { Look } from './look.ts';

/** Nothing is left over of this run or of a killed one before it. */
export const judgeLeftovers = ({ strays, leftovers }: Look): string[] => [
  ...strays.map((stray) => `left over: container ${stray}`),
  ...leftovers.map((leftover) => `left over: ${leftover}`),
];
