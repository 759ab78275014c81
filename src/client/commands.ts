import type { Command } from './command.ts';
import { command as completion } from './commands/completion.ts';
import { command as instanceCancel } from './commands/instance-cancel.ts';
import { command as instanceChannel } from './commands/instance-channel.ts';
import { command as instanceFollow } from './commands/instance-follow.ts';
import { command as instanceHistory } from './commands/instance-history.ts';
import { command as instanceStatus } from './commands/instance-status.ts';
import { command as instanceUpdate } from './commands/instance-update.ts';
import { command as update } from './commands/update.ts';

/** Everything that the client can do, in the order in which its help lists it. */
export const allCommands = (): readonly Command[] => [
  instanceStatus(),
  instanceChannel(),
  instanceUpdate(),
  instanceFollow(),
  instanceCancel(),
  instanceHistory(),
  update(),
  completion(),
];
