import type { ClientCommand } from './command-line/client-command.ts';
import { completionCommand } from './command-line/completion.ts';
import { instanceAutomaticCommand } from './commands/instance-automatic.ts';
import { instanceCancelCommand } from './commands/instance-cancel.ts';
import { instanceChannelCommand } from './commands/instance-channel.ts';
import { instanceFollowCommand } from './commands/instance-follow.ts';
import { instanceHistoryCommand } from './commands/instance-history.ts';
import { instanceRehearseCommand } from './commands/instance-rehearse.ts';
import { instanceReportCommand } from './commands/instance-report.ts';
import { instanceRollbackCommand } from './commands/instance-rollback.ts';
import { instanceSkipCommand } from './commands/instance-skip.ts';
import { instanceStatusCommand } from './commands/instance-status.ts';
import { instanceUpdateCommand } from './commands/instance-update.ts';
import { clientUpdateCommand } from './commands/update.ts';

/** All commands, in the order in which the help lists them. */
export const clientCommands: readonly ClientCommand[] = [
  instanceStatusCommand,
  instanceChannelCommand,
  instanceSkipCommand,
  instanceAutomaticCommand,
  instanceRehearseCommand,
  instanceUpdateCommand,
  instanceFollowCommand,
  instanceCancelCommand,
  instanceHistoryCommand,
  instanceRollbackCommand,
  instanceReportCommand,
  clientUpdateCommand,
  completionCommand,
];
