import { channelOf } from '../../core/release/channel.ts';
import { isForAdmins, type Problem } from '../../wire/reader-shapes.ts';
import type { Status } from '../../wire/status.ts';
import { type ClientCommand, CommandUsageError, type Context } from '../command.ts';
import { connect, type Session, statusForAdmins } from '../connect.ts';
import { followPath } from '../follow/follow-path.ts';
import { timeoutOf, timeoutOption } from '../follow/follow-update.ts';
import { names } from '../names.ts';
import { agree } from '../start/agree.ts';
import { decideStart, type Stay, stayFor, type Wish } from '../start/decide.ts';
import { startRun } from '../start/start-run.ts';
import { pathLine, restorePointLine } from '../status-lines.ts';
import { asSentence, clean, cleanText, jsonLine, linesOf } from '../text.ts';

export const instanceUpdate: ClientCommand = {
  name: 'instance update',
  summary: 'Update svc and follow the update until the new version responds',
  usage:
    '[--target VERSION] [--all-steps] [--when-idle | --force] [--yes] [--no-follow] [--timeout SECONDS] [--json]',
  options: [
    {
      name: 'target',
      value: 'VERSION',
      help: 'Version to install, e.g. v1.5.0, or canary (default: the offered version)',
    },
    { name: 'all-steps', help: 'Install all releases on the upgrade path, one after the other' },
    { name: 'when-idle', help: 'Wait until running jobs have finished; new jobs stay queued' },
    { name: 'force', help: 'Stop running jobs' },
    { name: 'yes', help: 'Do not ask for confirmation before installing a major version or stopping jobs' },
    { name: 'no-follow', help: 'Start the update without following it' },
    timeoutOption,
    {
      name: 'json',
      help: 'Print one JSON event per line; if the request is refused, print the error as a JSON problem document',
    },
  ],
  examples: [
    ['svc instance update', 'update to the offered version and follow the update'],
    ['svc instance update --when-idle', 'update as soon as running jobs have finished'],
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
  // The status may be minutes old, and a release may have been published since.
  if (wish.target === null && status.next === null && status.reason?.code !== 'update-running')
    status = await ask(true);
  const target = decideStart(status, wish);
  if (typeof target !== 'string') return stay(target);
  const steps = stepsTo(target, status, wish);
  const goal = status.next?.upgradePath.at(-1) ?? target;
  if (steps.length > 1) tell(clean(pathLine(status.version, steps)));
  else if (!wish.allSteps && target === status.next?.version && goal !== target)
    tell(
      clean(
        `${target} must be installed before ${goal}. To continue to ${goal} automatically, use --all-steps.`,
      ),
    );
  const saved = restorePointLine(status, steps[0] ?? target);
  if (saved !== null) tell(clean(saved));
  if (!(await agree(context, clean(status), { ...wish, steps: clean(steps) }))) {
    tell('The update was not started.');
    return 3;
  }
  const order = {
    target,
    ...(wish.whenIdle && { when: 'idle' as const }),
    ...(wish.force && { force: true as const }),
    ...(wish.allSteps && target !== status.next?.version && { allSteps: true as const }),
  };
  const run = await startRun(session, {
    what: 'the update',
    command: 'instance update',
    before: status.run?.id ?? null,
    ask: () => reader.start(order, { signal }),
    refusal: (problem) => refusal(session, problem, status),
  });
  if ('lines' in run) return stay(run);
  if (!args.options['no-follow']) return followPath(session, { run, timeout, json });
  if (json) stdout.write(jsonLine({ event: 'run', data: run }));
  const to = clean(run).to ?? 'the latest release';
  tell(`The update to ${to} has started. To follow its progress: ${names().name} instance follow`);
  return 0;
}

/** @throws UsageError */
function wishOf({ args: { options } }: Context): Wish {
  const [whenIdle, force] = [options['when-idle'] === true, options.force === true];
  if (whenIdle && force) throw new CommandUsageError('--when-idle and --force cannot be combined.');
  const target = typeof options.target === 'string' ? options.target : null;
  if (target !== null && target !== 'canary' && channelOf(target) === null)
    throw new CommandUsageError(`--target must be "canary" or a version such as v1.5.0, not "${target}".`);
  const allSteps = options['all-steps'] === true;
  if (allSteps && target === 'canary')
    throw new CommandUsageError('--all-steps cannot be combined with --target canary.');
  return { target, whenIdle, force, allSteps };
}

/** The releases to install, one update each. */
function stepsTo(target: string, { next }: Status, { allSteps }: Wish): readonly string[] {
  const at = allSteps && next ? next.upgradePath.indexOf(target) : -1;
  return next && at >= 0 ? next.upgradePath.slice(0, at + 1) : [target];
}

async function refusal({ reader, signal }: Session, problem: Problem, status: Status): Promise<Stay> {
  const { reason, detail } = problem;
  const stay = (line: string): Stay => ({ lines: [line], problem, exitCode: 3 });
  if (reason === undefined) return stay(`Cannot update now: ${asSentence(cleanText(detail))}`);
  if (reason.code === 'up-to-date') return stay(asSentence(cleanText(reason.message)));
  if (reason.code !== 'update-running') return stayFor(reason, status, problem);
  // Another update was started in the meantime. Only a new status contains its run.
  const answer = await reader.status({ signal });
  const current = answer.kind === 'ok' && isForAdmins(answer.value) ? answer.value : status;
  return stayFor(reason, current, problem);
}
