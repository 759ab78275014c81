import type { ToldRun } from '../../wire/status.ts';
import { type Command, type Context, Failure } from '../command.ts';
import { type Connection, connect, improper, interrupted } from '../connect.ts';
import { exitCodeOf } from '../endings.ts';
import { explain } from '../explain.ts';
import { followUpdate, tellUsually } from '../follow/follow-update.ts';
import { names } from '../names.ts';
import { sentence, shown } from '../shown.ts';

export const command = (): Command => ({
  name: 'instance cancel',
  summary: 'Stops the update that is on, as long as nothing has been replaced, and waits for its end.',
  usage: '',
  options: [],
  examples: [
    {
      line: `${names().name} instance cancel`,
      does: 'exits with 0 if it was stopped, with 3 if it was too late',
    },
    {
      line: `${names().name} instance cancel && ${names().name} instance status`,
      does: 'stop it, then see what runs',
    },
  ],
  run,
});

/** Seconds without an answer. */
const timeout = 900;
const tries = 5;
const pause = 1000;

async function run(context: Context): Promise<number> {
  const connection = connect(context);
  const open = await openRun(context, connection);
  if (open === null) {
    context.stdout.write('No update is on.\n');
    return 3;
  }
  const stopping = await stop(context, connection);
  if (typeof stopping === 'string') {
    context.stdout.write(`${stopping}\n`);
    return 3;
  }
  return followUpdate(context, connection, {
    run: stopping,
    timeout,
    json: false,
    tellEnd: (ended, status) => {
      if (ended.outcome === 'cancelled') {
        const { message } = ended;
        const line = message.startsWith('cancelled ') ? sentence(message) : `Cancelled: ${sentence(message)}`;
        return { lines: [`✓ ${line}`], exitCode: 0 };
      }
      const { lines } = tellUsually(ended, status);
      return { lines: ['It was too late to stop it.', ...lines], exitCode: exitCodeOf(ended.outcome) || 3 };
    },
  });
}

async function openRun({ signal }: Context, { reader, config }: Connection): Promise<ToldRun | null> {
  const answer = await reader.progress({ signal });
  if (answer.kind === 'problem' && answer.problem.status === 404) return null;
  if (answer.kind !== 'ok') throw signal.aborted ? interrupted() : improper(answer, config);
  return answer.value.outcome === null ? answer.value : null;
}

/** The run that was asked to stop, or why it was not. To ask twice does no harm, so a lost answer is asked for again. */
async function stop({ signal }: Context, { reader, config }: Connection): Promise<ToldRun | string> {
  for (let attempt = 1; ; attempt++) {
    const answer = await reader.cancel({ signal });
    if (answer.kind === 'ok') return answer.value;
    if (signal.aborted) throw interrupted();
    if (answer.kind === 'logged-out') throw improper(answer, config);
    if (answer.kind === 'problem') {
      const { status, detail } = answer.problem;
      if (status === 409) return sentence(shown(detail));
      if (status < 500) throw improper(answer, config);
    }
    if (attempt === tries)
      throw new Failure(
        1,
        `${explain(answer, config)} It is not known whether the update was asked to stop.`,
      );
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}
