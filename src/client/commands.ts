import type { Command } from './command.ts';

/** Everything that `svc` can do, in the order in which its help lists it. */
export const commands: readonly Command[] = [];
