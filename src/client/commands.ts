import type { ClientCommand } from './command.ts';
import { completion } from './commands/completion.ts';
import { instanceAutomatic } from './commands/instance-automatic.ts';
import { instanceCancel } from './commands/instance-cancel.ts';
import { instanceChannel } from './commands/instance-channel.ts';
import { instanceFollow } from './commands/instance-follow.ts';
import { instanceHistory } from './commands/instance-history.ts';
import { instanceReport } from './commands/instance-report.ts';
import { instanceRollback } from './commands/instance-rollback.ts';
import { instanceSkip } from './commands/instance-skip.ts';
import { instanceStatus } from './commands/instance-status.ts';
import { instanceUpdate } from './commands/instance-update.ts';
import { updateCommand } from './commands/update.ts';

/** All commands, in the order of the help. */
export const clientCommands: readonly ClientCommand[] = [
  instanceStatus,
  instanceChannel,
  instanceSkip,
  instanceAutomatic,
  instanceUpdate,
  instanceFollow,
  instanceCancel,
  instanceHistory,
  instanceRollback,
  instanceReport,
  updateCommand,
  completion,
];
