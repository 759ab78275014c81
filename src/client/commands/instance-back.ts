import type { Answer } from '../../wire/reader-answer.ts';
import type { Problem } from '../../wire/reader-shapes.ts';
import type { BackOffer, Reason, Status } from '../../wire/status.ts';
import { type Command, type Context, UsageError } from '../command.ts';
import { connect, expectAnswer, type Session, statusForAdmins } from '../connect.ts';
import { followUpdate, timeoutOf, timeoutOption } from '../follow/follow-update.ts';
import { names } from '../names.ts';
import { askYesNo, cutShort, readLine } from '../start/agree.ts';
import type { Stay } from '../start/decide.ts';
import { startRun } from '../start/start-run.ts';
import { backLines, refusalLines } from '../status-lines.ts';
import { clean, jsonLine, linesOf } from '../text.ts';

export const instanceBack: Command = {
  name: 'instance back',
  summary: 'Goes back to the version and the data of before the last update; first it says what is lost.',
  usage: '[--when-idle | --force] [--yes] [--no-follow] [--timeout SECONDS] [--json]',
  options: [
    { name: 'when-idle', help: 'wait for running jobs to end; new ones stay queued' },
    { name: 'force', help: 'cut running jobs short' },
    { name: 'yes', help: 'go back without asking' },
    { name: 'no-follow', help: 'only start it' },
    timeoutOption,
    { name: 'json', help: 'print one event a line, as JSON; a refusal is its problem document' },
  ],
  examples: [
    ['svc instance back', 'see what is lost, and go back if you say so twice'],
    ['svc instance back --yes --json', 'unattended'],
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
  tell('Comparing the data of now with those that were kept…');
  const told = await reader.backOffer({ signal });
  const problem = refused(told);
  if (problem !== null) return stay(stayFor(problem, status));
  const offer = await expectAnswer(Promise.resolve(told), session);
  if (json) stdout.write(jsonLine({ event: 'back', data: offer }));
  tell(...backLines(clean(offer), status));
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
    what: 'the way back',
    command: 'instance back',
    before: status.run?.id ?? null,
    ask: () => reader.goBack(order, { signal }),
    refusal: (problem) => stayFor(problem, status),
  });
  if ('lines' in started) return stay(started);
  if (!options['no-follow']) return followUpdate(session, { run: started, timeout, json: json === true });
  if (json) stdout.write(jsonLine({ event: 'run', data: started }));
  tell(`The way back to ${clean(offer).to} has begun. Follow it: ${names().name} instance follow`);
  return 0;
}

/** What svc says no with; null where it says something else, or nothing. */
const refused = (answer: Answer<BackOffer>): Problem | null =>
  answer.kind === 'problem' && [404, 409, 429, 503].includes(answer.problem.status) ? answer.problem : null;

function stayFor(problem: Problem, status: Status): Stay {
  const reason = clean(problem.reason ?? null) as Reason | null;
  const { detail } = clean(problem);
  const lines = refusalLines(reason ?? { code: 'back-refused', message: detail }, clean(status), 'back');
  return { lines, problem, exitCode: 3 };
}

/**
 * Asks for consent, then for the version, which nobody types by mistake.
 * @throws UsageError where nobody can answer, and `--yes` was not given
 */
async function agreeTwice(
  session: Session,
  { to }: BackOffer,
  { status, force }: { status: Status; force: boolean },
): Promise<boolean> {
  if (session.args.options.yes) return true;
  if (!session.canAsk)
    throw new UsageError('What was done since then is lost. Nobody can be asked here: add --yes');
  if (force && !(await cutShort(session, status))) return false;
  if (!(await askYesNo('What was done since then is lost. Go back?', session))) return false;
  return (await readLine(`Type ${to} to go back: `, session)).trim() === to;
}
