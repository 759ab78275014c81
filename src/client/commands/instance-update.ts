import type { Command, Context } from '../command.ts';
import { UsageError } from '../command.ts';
import { connect, statusForAdmins } from '../connect.ts';
import { followUpdate } from '../follow/follow-update.ts';
import { timeoutOf, timeoutOption } from '../follow/timeout.ts';
import { names } from '../names.ts';
import { jsonLine, shownAll } from '../shown.ts';
import { agree } from '../start/agree.ts';
import { decide } from '../start/decide.ts';
import { startUpdate } from '../start/start-update.ts';
import { readTarget } from '../start/target.ts';

export const command = (): Command => ({
  name: 'instance update',
  summary: `Updates ${names().name}, and shows how that goes until the new version answers.`,
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
    { line: `${names().name} instance update`, does: 'go to what is offered, and watch' },
    {
      line: `${names().name} instance update --when-idle --yes --json`,
      does: 'unattended, once nothing runs',
    },
  ],
  run,
});

async function run(context: Context): Promise<number> {
  const { options } = context.args;
  const [json, whenIdle, force] = ['json', 'when-idle', 'force'].map((name) => options[name] === true);
  const timeout = timeoutOf(context.args);
  if (whenIdle && force)
    throw new UsageError('--when-idle waits for jobs, --force cuts them short: choose one.');
  const wish = { target: readTarget(options.target), whenIdle: whenIdle === true, force: force === true };
  const connection = connect(context);
  const { reader } = connection;
  const out = json ? context.stderr : context.stdout;
  const tell = (lines: readonly string[]) => out.write(lines.map((line) => `${line}\n`).join(''));
  const ask = (refresh: boolean) =>
    statusForAdmins(reader.status({ refresh, signal: context.signal }), connection, context);

  let status = await ask(false);
  // What was published a minute ago is what somebody means who types this.
  if (wish.target === null && status.next === null && status.reason?.code !== 'update-running')
    status = await ask(true);
  const decision = decide(status, wish);
  if (decision.kind === 'stay') {
    if (json && decision.problem !== null) context.stdout.write(jsonLine(decision.problem));
    tell(decision.lines);
    return decision.exitCode;
  }
  if (!(await agree(context, shownAll(status), { ...wish, target: decision.target }))) {
    tell(['Nothing was started.']);
    return 3;
  }
  const started = await startUpdate(context, connection, {
    status,
    target: decision.target,
    whenIdle: wish.whenIdle,
    force: wish.force,
  });
  if (started.kind === 'stay') {
    if (json && started.problem !== null) context.stdout.write(jsonLine(started.problem));
    tell(started.lines);
    return started.exitCode;
  }
  if (!options['no-follow'])
    return followUpdate(context, connection, { run: started.run, timeout, json: json === true });
  if (json) context.stdout.write(jsonLine({ event: 'run', data: started.run }));
  tell([
    `The update to ${shownAll(started.run).to ?? 'the newest release'} has started. Follow it: ${names().name} instance follow`,
  ]);
  return 0;
}
