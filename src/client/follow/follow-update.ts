import { isTooLate, mayBeAway } from '../../wire/phase-rows.ts';
import { followRun, type News } from '../../wire/reader-follow.ts';
import { isForAdmins } from '../../wire/reader-shapes.ts';
import type { Run, Status, ToldRun } from '../../wire/status.ts';
import { type Args, type Option, stoppedCode, UsageError } from '../command.ts';
import type { Session } from '../connect.ts';
import { type Ending, endingOf, nameOf, paintMark } from '../endings.ts';
import { explain } from '../explain.ts';
import { names } from '../names.ts';
import { clean, count, jsonLine, linesOf } from '../text.ts';
import { clockTime, duration } from '../times.ts';
import { JsonEvents, PlainLines } from './lines.ts';
import { LiveList } from './live-list.ts';
import { logOf, type Printer, type View } from './view.ts';

export interface FollowOptions {
  /** As it was told last, as it came. */
  run: ToldRun;
  /** After so many seconds in a row without any answer it is given up. */
  timeout: number;
  json: boolean;
  /** What is said at its end, where that is not the usual. */
  endingOf?: (run: Run, status: Status | null) => Ending;
}

export const usualTimeout = 900;

export const timeoutOption: Option = {
  name: 'timeout',
  value: 'SECONDS',
  help: `give up after so long without any answer (${usualTimeout})`,
};

/** In seconds. @throws UsageError */
export function timeoutOf({ options: { timeout = String(usualTimeout) } }: Args): number {
  const seconds = /^\d{1,7}$/.test(String(timeout)) ? Number(timeout) : 0;
  if (seconds >= 1) return seconds;
  throw new UsageError(`--timeout needs a number of seconds, not "${timeout}" (1 to 9999999).`);
}

/** Milliseconds; a 401 that lasts so long is no restart of a server, and takes a new log-in. */
const loggedOutFor = 30_000;
const second = 1000;
/** Milliseconds between two looks, of one a second: after more than that, process or machine were asleep and asked nothing. */
const nap = 30_000;

/** Follows a run until a server that knows its end answers, and says how it ended. Resolves with the exit code. */
export const followUpdate = async (session: Session, options: FollowOptions): Promise<number> =>
  (await followOne(session, options)).exitCode;

/** The same, with the run as it was told last. */
export async function followOne(
  session: Session,
  options: FollowOptions,
): Promise<{ exitCode: number; run: ToldRun }> {
  const now = session.now();
  const view: View = { run: clean(options.run), toldAt: now, heardAt: now, refused: null };
  const why = await watch(session, options, view, (signal) =>
    followRun(session.reader, { run: options.run.id, signal }),
  );
  const { lines, exitCode } =
    why === 'ended'
      ? (options.endingOf ?? endingOf)(view.run, await statusOf(session))
      : await partingOf(why, view, session, options.timeout);
  tell(session, lines, options.json);
  return { exitCode, run: view.run };
}

/** Tells how a run has ended that is not followed any more. Resolves with the exit code. */
export async function tellPast(session: Session, run: ToldRun, json: boolean): Promise<number> {
  if (json) session.stdout.write(jsonLine({ event: 'run', data: run }));
  const { lines, exitCode } = endingOf(clean(run), json ? null : await statusOf(session));
  tell(session, lines, json);
  return exitCode;
}

/** Null where there is no proper answer, or the user is no admin. */
async function statusOf({ reader }: Session): Promise<Status | null> {
  const answer = await reader.status();
  return answer.kind === 'ok' && isForAdmins(answer.value) ? clean(answer.value) : null;
}

export function tell({ stdout, stderr, isTerminal }: Session, lines: readonly string[], json: boolean): void {
  (json ? stderr : stdout).write(linesOf(isTerminal && !json ? lines.map(paintMark) : lines));
}

/** Why there is no more to see. */
type Why = 'ended' | 'interrupted' | 'unknown' | 'logged-out' | 'silent';

/** Keeps the view up to date, and shows it, until there is no more to see. */
export async function watch(
  session: Session,
  { timeout, json }: Pick<FollowOptions, 'timeout' | 'json'>,
  view: View,
  newsOf: (signal: AbortSignal) => AsyncIterable<News>,
): Promise<Why> {
  const { signal } = session;
  const printer = printerFor(session, json);
  const stop = new AbortController();
  let why: Why | null = null;
  const giveUp = (reason: Why) => {
    why ??= reason;
    stop.abort();
  };
  let loggedOutSince: number | null = null;
  let lookedAt = session.now();
  const look = () => {
    const at = session.now();
    if (at - lookedAt > nap) {
      view.heardAt = at;
      loggedOutSince = loggedOutSince === null ? null : at;
    }
    lookedAt = at;
    printer.show(view, at);
    // A server that has nothing to say is no silent one: that a stream is dead, its reader tells.
    if (view.refused !== null && at - view.heardAt >= timeout * second) giveUp('silent');
    if (loggedOutSince !== null && at - loggedOutSince >= loggedOutFor) giveUp('logged-out');
  };
  const interrupt = () => giveUp('interrupted');
  signal.addEventListener('abort', interrupt);
  if (signal.aborted) interrupt();
  const ticking = setInterval(look, second);
  try {
    if (!view.pendingStep) printer.begin?.(view, session.now());
    for await (const news of newsOf(stop.signal)) {
      printer.news?.(news);
      note(view, news, session.now());
      loggedOutSince = isLoggedOut(news, view) ? (loggedOutSince ?? session.now()) : null;
      if (news.kind === 'unknown') why = 'unknown';
      else if (news.kind === 'run' && view.run.outcome !== null) why = 'ended';
      else look();
    }
  } finally {
    clearInterval(ticking);
    signal.removeEventListener('abort', interrupt);
  }
  printer.end?.(view, session.now());
  return why ?? 'ended';
}

function printerFor(session: Session, json: boolean): Printer {
  if (json) return new JsonEvents(session.stdout, session.stderr);
  return session.isTerminal ? new LiveList(session) : new PlainLines(session.stdout);
}

function note(view: View, news: News, now: number): void {
  view.refused = news.kind === 'unheard' ? news.refused : null;
  if (news.kind !== 'unheard') view.heardAt = now;
  if (news.kind !== 'run') return;
  view.run = clean(news.run);
  view.toldAt = now;
}

/** A redirect, and a proxy's own 401, are something else's while svc may be away; svc itself says 401, too. */
const isLoggedOut = (news: News, { run }: View): boolean =>
  news.kind === 'unheard' &&
  news.refused.kind === 'logged-out' &&
  ((news.refused.status === 401 && news.refused.inFront === null) || !mayBeAway(run));

/** Where the following ends before there is an end. */
export const partingOf = async (
  why: Exclude<Why, 'ended'>,
  view: View,
  session: Session,
  timeout: number,
): Promise<Ending> => ({
  lines: await partingLines(why, view, session, timeout),
  exitCode: why === 'interrupted' ? stoppedCode : 1,
});

async function partingLines(
  why: Exclude<Why, 'ended'>,
  { run, refused, pendingStep }: View,
  { reader, config }: Session,
  timeout: number,
): Promise<string[]> {
  const { name } = names();
  const what = nameOf(run);
  switch (why) {
    case 'interrupted':
      return [farewell(run, pendingStep?.to)];
    case 'unknown': {
      const answer = await reader.status();
      const version = answer.kind === 'ok' ? `${name} ${clean(answer.value).version}` : name;
      const begun = clockTime(run.startedAt, run.now);
      return [
        `${version} answers and knows nothing of ${what} begun at ${begun}. On the machine: ${logOf(run)}`,
      ];
    }
    case 'logged-out':
      return refused?.kind === 'logged-out' && refused.inFront !== null
        ? [explain(refused, config), `It goes on by itself. Follow it: ${name} instance follow`]
        : [
            `${name} does not accept the token any more (401). ${what.replace('t', 'T')} goes on by itself.`,
            `Log in again, then: ${name} instance follow`,
          ];
    case 'silent':
      return [
        `${name} has not answered for ${duration(timeout * second)}: it is not known what became of ${what}.`,
        `On the machine: ${logOf(run)}. Once ${name} answers: ${name} instance follow`,
      ];
  }
}

/** What goes on without a follower, and how it is followed or stopped. */
function farewell(run: Run, next: string | undefined): string {
  const { name } = names();
  if (next !== undefined)
    return `The update to ${next} comes next, by itself. Follow it: ${name} instance follow. Stop it: ${name} instance cancel.`;
  const what = nameOf(run).replace('t', 'T');
  const following = `${what} continues. Follow it: ${name} instance follow.`;
  if (isTooLate(run)) return `${following} It can no longer be cancelled.`;
  if (run.state !== 'waiting') return `${following} Cancel it: ${name} instance cancel.`;
  return `It still waits for ${count(run.jobs.length, 'job')} and starts by itself. Stop it: ${name} instance cancel.`;
}
