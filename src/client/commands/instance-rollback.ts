import type { Answer } from '../../wire/reader-answer.ts';
import type { Problem } from '../../wire/reader-shapes.ts';
import type { Reason, RollbackOffer, Status } from '../../wire/status.ts';
import { type Command, type Context, UsageError } from '../command.ts';
import { connect, expectAnswer, type Session, statusForAdmins } from '../connect.ts';
import { followUpdate, timeoutOf, timeoutOption } from '../follow/follow-update.ts';
import { names } from '../names.ts';
import { askYesNo, cutShort, readLine } from '../start/agree.ts';
import type { Stay } from '../start/decide.ts';
import { startRun } from '../start/start-run.ts';
import { refusalLines, rollbackLines } from '../status-lines.ts';
import { clean, jsonLine, linesOf } from '../text.ts';

export const instanceRollback: Command = {
  name: 'instance rollback',
  summary: 'Rolls back to the version and the data before the last update, after showing the effects.',
  usage: '[--when-idle | --force] [--yes] [--no-follow] [--timeout SECONDS] [--json]',
  options: [
    { name: 'when-idle', help: 'wait for running jobs to end; new ones stay queued' },
    { name: 'force', help: 'cut running jobs short' },
    { name: 'yes', help: 'roll back without asking' },
    { name: 'no-follow', help: 'only start it' },
    timeoutOption,
    { name: 'json', help: 'print one event a line, as JSON; a refusal is its problem document' },
  ],
  examples: [
    ['svc instance rollback', 'see the effects, and roll back after two confirmations'],
    ['svc instance rollback --yes --json', 'unattended'],
  ],
  run,
};

async function run(context: Context): Promise<number> {
  const timeout = timeoutOf(context.args);
  const { options } = context.args;
  const [whenIdle, force, json] = [options['when-idle'], options.force, options.json].map(
    (option) => option === true,
  );
  if (whenIdle && force)
    throw new UsageError('--when-idle waits for jobs, --force cuts them short: choose one.');
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
    tell('Nothing was started.');
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
  tell(`The rollback to ${clean(offer).to} has started. Follow it: ${names().name} instance follow`);
  return 0;
}

/** The problem with which svc refuses; null otherwise. */
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
 * Asks for consent, then for the version, which nobody types by mistake.
 * @throws UsageError where nobody can answer, and `--yes` was not given
 */
async function agreeTwice(
  session: Session,
  { to }: RollbackOffer,
  { status, force }: { status: Status; force: boolean },
): Promise<boolean> {
  if (session.args.options.yes) return true;
  if (!session.canAsk)
    throw new UsageError('A rollback replaces the current data. Nobody can be asked here: add --yes');
  if (force && !(await cutShort(session, status))) return false;
  if (!(await askYesNo('Roll back?', session))) return false;
  return (await readLine(`Type ${to} to roll back: `, session)).trim() === to;
}
