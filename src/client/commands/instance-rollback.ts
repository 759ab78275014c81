import type { Answer } from '../../wire/reader-answer.ts';
import type { Problem } from '../../wire/reader-shapes.ts';
import type { Reason, RollbackOffer, Status } from '../../wire/status.ts';
import { type ClientCommand, CommandUsageError, type Context } from '../command.ts';
import { connect, expectAnswer, type Session, statusForAdmins } from '../connect.ts';
import { followUpdate, timeoutOf, timeoutOption } from '../follow/follow-update.ts';
import { names } from '../names.ts';
import { agreeToStopJobs, askYesNo, readLine } from '../start/agree.ts';
import type { Stay } from '../start/decide.ts';
import { startRun } from '../start/start-run.ts';
import { refusalLines, rollbackLines } from '../status-lines.ts';
import { clean, jsonLine, linesOf } from '../text.ts';

export const instanceRollback: ClientCommand = {
  name: 'instance rollback',
  summary: 'Roll back the last update: restore the previous version and its data',
  usage: '[--when-idle | --force] [--yes] [--no-follow] [--timeout SECONDS] [--json]',
  options: [
    { name: 'when-idle', help: 'Wait until running jobs have finished; new jobs stay queued' },
    { name: 'force', help: 'Stop running jobs' },
    { name: 'yes', help: 'Roll back without asking for confirmation' },
    { name: 'no-follow', help: 'Start the rollback without following it' },
    timeoutOption,
    {
      name: 'json',
      help: 'Print one JSON event per line; if the request is refused, print the error as a JSON problem document',
    },
  ],
  examples: [
    [
      '{product} instance rollback',
      'show the effects of the rollback, ask twice for confirmation, then roll back',
    ],
    ['{product} instance rollback --yes --json', 'roll back without confirmation, for scripts'],
  ],
  run,
};

async function run(context: Context): Promise<number> {
  const timeout = timeoutOf(context.args);
  const { options } = context.args;
  const [whenIdle, force, json] = [options['when-idle'], options.force, options.json].map(
    (option) => option === true,
  );
  if (whenIdle && force) throw new CommandUsageError('--when-idle and --force cannot be combined.');
  const session = connect(context);
  const { reader, signal, stdout, stderr } = session;
  const tell = (...lines: readonly string[]) => (json ? stderr : stdout).write(linesOf(lines));
  const stay = ({ lines, problem, exitCode }: Stay): number => {
    if (json && problem !== null) stdout.write(jsonLine(problem));
    tell(...lines);
    return exitCode;
  };
  const status = await statusForAdmins(reader.status({ signal }), session);
  tell('Checking the restore point…');
  const told = await reader.rollbackOffer({ signal });
  const problem = refused(told);
  if (problem !== null) return stay(stayFor(problem, status));
  const offer = await expectAnswer(Promise.resolve(told), session);
  if (json) stdout.write(jsonLine({ event: 'rollback', data: offer }));
  tell(...rollbackLines(clean(offer), status));
  if (!(await agreeTwice(session, clean(offer), { status: clean(status), force: force === true }))) {
    tell('The rollback was not started.');
    return 3;
  }
  const order = {
    confirm: offer.to,
    ...(whenIdle && { when: 'idle' as const }),
    ...(force && { force: true as const }),
  };
  const started = await startRun(session, {
    what: 'the rollback',
    command: 'instance rollback',
    before: status.run?.id ?? null,
    ask: () => reader.rollback(order, { signal }),
    refusal: (problem) => stayFor(problem, status),
  });
  if ('lines' in started) return stay(started);
  if (!options['no-follow']) return followUpdate(session, { run: started, timeout, json: json === true });
  if (json) stdout.write(jsonLine({ event: 'run', data: started }));
  tell(
    `The rollback to ${clean(offer).to} has started. To follow its progress: ${names().name} instance follow`,
  );
  return 0;
}

/** The problem document of a refusal; null otherwise. */
const refused = (answer: Answer<RollbackOffer>): Problem | null =>
  answer.kind === 'problem' && [404, 409, 429, 503].includes(answer.problem.status) ? answer.problem : null;

function stayFor(problem: Problem, status: Status): Stay {
  const reason = clean(problem.reason ?? null) as Reason | null;
  const { detail } = clean(problem);
  const lines = refusalLines(
    reason ?? { code: 'rollback-refused', message: detail },
    clean(status),
    'rollback',
  );
  return { lines, problem, exitCode: 3 };
}

/**
 * Asks for consent, then for the version, so that no one confirms by mistake.
 * @throws UsageError without a terminal and without `--yes`
 */
async function agreeTwice(
  session: Session,
  { to }: RollbackOffer,
  { status, force }: { status: Status; force: boolean },
): Promise<boolean> {
  if (session.args.options.yes) return true;
  if (!session.canAsk)
    throw new CommandUsageError(
      'A rollback replaces the current data. Without a terminal, confirm with --yes.',
    );
  if (force && !(await agreeToStopJobs(session, status))) return false;
  if (!(await askYesNo('Roll back?', session))) return false;
  return (await readLine(`Type ${to} to roll back: `, session)).trim() === to;
}
