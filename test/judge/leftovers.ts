import type { Look } from './look.ts';

/** This run and killed runs before it have left nothing. */
export const judgeLeftovers = ({ strays, leftovers }: Look): string[] => [
  ...strays.map((stray) => `left over: container ${stray}`),
  ...leftovers.map((leftover) => `left over: ${leftover}`),
];
