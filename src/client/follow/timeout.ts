import type { Args, Option } from '../command.ts';
import { secondsOf } from '../parse.ts';

const usual = 900;

export const timeoutOption: Option = {
  name: 'timeout',
  value: 'SECONDS',
  help: `give up after so long without any answer (${usual})`,
};

/** In seconds. @throws UsageError */
export const timeoutOf = (args: Args): number => secondsOf(args, 'timeout', usual);
