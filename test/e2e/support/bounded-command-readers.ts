// Readers of the output of commands, each with an adversary.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runAttachedCommand } from '../../../src/engine/cli/run-attached-command.ts';
import { type CommandResult, runCommand } from '../../../src/engine/cli/run-command.ts';
import { runHelperContainer } from '../../../src/updater/data/copies/run-helper-container.ts';
import { runProgram } from '../../../src/updater/data/helper-program/rsync.ts';
import { Log } from '../../../src/updater/run/log/run-log.ts';
import { type Flow, printing, root, send, serve } from './adversary.ts';
import { aborted, deadlineFor, each, engineAt, limitMs, type Reader, soon } from './bounded-reader.ts';

const env = { PATH: process.env.PATH ?? '' };

const describeCommand = ({ exitCode, stdout, stderr, timedOut }: Partial<CommandResult>) =>
  `exit code ${exitCode}, timed out: ${timedOut}, ${stdout?.length} characters, ${stderr?.slice(0, 60)}`;

/** Standard output comes last, because its limit is half of the memory. */
export const readers: Reader[] = [
  {
    name: 'result of a helper container',
    read: async (flow) => {
      const engine = engineAt(`unix://${(await serve(flow, { status: 201 })).path}`, flow);
      const context = { engine, log: new Log(() => {}), project: 'svc', helperImageId: 'image' };
      const call = { verb: 'look', request: { mounts: [] }, mounts: [], code: 'engine-unavailable' } as const;
      return runHelperContainer(context, { ...call, signal: soon() });
    },
    ends: each(aborted),
  },
  {
    name: 'standard error of a command',
    read: async (flow) =>
      describeCommand(
        await runCommand('sh', ['-c', `(${printing[flow]}) >&2`], { env, deadlineMs: limitMs }),
      ),
    ends: each(/timed out: true, 0 characters, x/),
  },
  {
    name: 'command in a container',
    read: async (flow) => {
      const engine = engineAt(`unix://${join(root, 'none.sock')}`, flow);
      const { exitCode, lines } = await runAttachedCommand(engine, ['exec', 'x', 'true'], limitMs);
      return `exit code ${exitCode}, at most 1 MiB: ${lines.join('\n').length <= 1024 ** 2}`;
    },
    ends: each(/^exit code null, at most 1 MiB: true$/),
  },
  ...[1, 2].map((output) => ({
    name: output === 1 ? 'standard output of rsync' : 'standard error of rsync',
    read: async (flow: Flow) => {
      const script = `(${printing[flow]}) >&${output}`;
      const { code, errors } = await runProgram('sh', ['-c', script], { onLine: () => {}, signal: soon() });
      return `exit code ${code}, ${errors.join('').length} characters`;
    },
    ends: each(/^exit code null, \d{1,5} characters$/),
  })),
  {
    name: 'standard input of the helper program',
    read: async (flow) => {
      const program = fileURLToPath(
        new URL('../../../src/updater/data/helper-program/main.ts', import.meta.url),
      );
      const child = spawn(process.execPath, [program, 'cold', '{"mounts":[]}'], { env });
      child.stdin.on('error', () => {});
      let printed = '';
      child.stdout.on('data', (text) => (printed += text));
      send(flow, {}, child.stdin);
      const [code] = await once(child, 'close');
      return `exit code ${code}, ${printed.trim()}`;
    },
    // The first line reports that the program waits for input.
    ends: each(/^exit code 0, \{"bytes":0\}\n\{"result":null\}$/),
  },
  {
    name: 'standard output of a command',
    read: async (flow) => {
      const deadlineMs = deadlineFor(flow);
      return describeCommand(await runCommand('sh', ['-c', printing[flow]], { env, deadlineMs }));
    },
    ends: each(
      /^exit code null, timed out: false, 0 .* more than 67108864 bytes/,
      /timed out: true, \d characters/,
    ),
  },
];
