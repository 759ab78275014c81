import { channelOf } from '../../release/channel.ts';
import { type Command, type Context, UsageError } from '../command.ts';
import { connect, statusForAdmins } from '../connect.ts';
import { followUpdate, timeoutOf, timeoutOption } from '../follow/follow-update.ts';
import { names } from '../names.ts';
import { agree } from '../start/agree.ts';
import { decide, type Stay, type Wish } from '../start/decide.ts';
import { startUpdate } from '../start/start-update.ts';
import { clean, jsonLine, linesOf } from '../text.ts';

export const instanceUpdate: Command = {
  name: 'instance update',
  summary: 'Updates svc, and shows how that goes until the new version answers.',
  usage: '[--target VERSION] [--when-idle | --force] [--yes] [--no-follow] [--timeout SECONDS] [--json]',
  options: [
    { name: 'target', value: 'VERSION', help: 'what to go to: v1.5.0, or canary (what is offered)' },
    { name: 'when-idle', help: 'wait for running jobs to end; new ones stay queued' },
    { name: 'force', help: 'cut running jobs short' },
    { name: 'yes', help: 'go on without asking: for a major version, and with --force' },
    { name: 'no-follow', help: 'only start it' },
    timeoutOption,
    { name: 'json', help: 'print one event a line, as JSON; a refusal is its problem document' },
  ],
  examples: [
    ['svc instance update', 'go to what is offered, and watch'],
    ['svc instance update --when-idle --yes --json', 'unattended, once nothing runs'],
  ],
  run,
};

async function run(context: Context): Promise<number> {
  const timeout = timeoutOf(context.args);
  const wish = wishOf(context);
  const session = connect(context);
  const { args, reader, signal, stdout, stderr } = session;
  const json = args.options.json === true;
  const tell = (...lines: readonly string[]) => (json ? stderr : stdout).write(linesOf(lines));
  const stay = ({ lines, problem, exitCode }: Stay): number => {
    if (json && problem !== null) stdout.write(jsonLine(problem));
    tell(...lines);
    return exitCode;
  };
  const ask = (refresh: boolean) => statusForAdmins(reader.status({ refresh, signal }), session);

  let status = await ask(false);
  // The status may be minutes old, and a release that was published just now is meant, too.
  if (wish.target === null && status.next === null && status.reason?.code !== 'update-running')
    status = await ask(true);
  const target = decide(status, wish);
  if (typeof target !== 'string') return stay(target);
  if (!(await agree(context, clean(status), { ...wish, target }))) {
    tell('Nothing was started.');
    return 3;
  }
  const run = await startUpdate(session, status, { ...wish, target });
  if ('lines' in run) return stay(run);
  if (!args.options['no-follow']) return followUpdate(session, { run, timeout, json });
  if (json) stdout.write(jsonLine({ event: 'run', data: run }));
  const to = clean(run).to ?? 'the newest release';
  tell(`The update to ${to} has started. Follow it: ${names().name} instance follow`);
  return 0;
}

/** @throws UsageError */
function wishOf({ args: { options } }: Context): Wish {
  const [whenIdle, force] = [options['when-idle'] === true, options.force === true];
  if (whenIdle && force)
    throw new UsageError('--when-idle waits for jobs, --force cuts them short: choose one.');
  const target = typeof options.target === 'string' ? options.target : null;
  if (target !== null && target !== 'canary' && channelOf(target) === null)
    throw new UsageError(`--target needs a version like v1.5.0, or canary, not "${target}".`);
  return { target, whenIdle, force };
}
