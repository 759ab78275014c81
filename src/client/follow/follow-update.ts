import { mayBeAway } from '../../wire/phase-rows.ts';
import { followRun, type News } from '../../wire/reader-follow.ts';
import { isForAdmins } from '../../wire/reader-shapes.ts';
import type { Run, Status, ToldRun } from '../../wire/status.ts';
import { type Context, stoppedCode } from '../command.ts';
import type { Connection } from '../connect.ts';
import { endingLines, exitCodeOf, paintMark } from '../endings.ts';
import { explain } from '../explain.ts';
import { names } from '../names.ts';
import { count, jsonLine, shownAll } from '../shown.ts';
import { clockTime, duration } from '../times.ts';
import { JsonEvents } from './json-events.ts';
import { LiveList } from './live-list.ts';
import { PlainLines } from './plain-lines.ts';
import type { Printer } from './printer.ts';
import { logOf, type View } from './view.ts';

export interface FollowOptions {
  /** As it was told last, as it came. */
  run: ToldRun;
  /** After so many seconds in a row without any answer it is given up. */
  timeout: number;
  json: boolean;
  /** What is said at its end; by default how it ended. */
  tellEnd?: (run: Run, status: Status | null) => { lines: string[]; exitCode: number };
}

/** After so long a 401 somebody has to log in again. */
const loggedOutFor = 30_000;
const second = 1000;
/** Milliseconds without a look, of one a second: the process, or the machine, was asleep and has asked nobody. */
const nap = 30_000;

/** Follows a run until a server that knows its end answers, and says how it ended. Resolves with the exit code. */
export async function followUpdate(
  context: Context,
  connection: Connection,
  options: FollowOptions,
): Promise<number> {
  const { run, json, tellEnd = tellUsually } = options;
  const { reader } = connection;
  const { name } = names();
  const tell = (lines: readonly string[]) => tellLines(context, lines, json);
  const now = context.now();
  const view: View = { run: shownAll(run), toldAt: now, heardAt: now, refused: null };
  const end = await watch(context, connection, options, view);
  switch (end) {
    case 'ended': {
      const answer = await reader.status();
      const status = answer.kind === 'ok' && isForAdmins(answer.value) ? shownAll(answer.value) : null;
      const { lines, exitCode } = tellEnd(view.run, status);
      tell(lines);
      return exitCode;
    }
    case 'interrupted':
      tell([farewell(view.run)]);
      return stoppedCode;
    case 'unknown': {
      const answer = await reader.status();
      const version = answer.kind === 'ok' ? `${name} ${shownAll(answer.value).version}` : name;
      const begun = clockTime(view.run.startedAt, view.run.now);
      tell([
        `${version} answers and knows nothing of the update begun at ${begun}. On the machine: ${logOf(view.run)}`,
      ]);
      return 1;
    }
    case 'logged-out':
      if (view.refused?.kind === 'logged-out' && view.refused.inFront !== null)
        tell([
          explain(view.refused, connection.config),
          `The update goes on by itself. Follow it: ${name} instance follow`,
        ]);
      else
        tell([
          `${name} does not accept the token any more (401). The update goes on by itself.`,
          `Log in again, then: ${name} instance follow`,
        ]);
      return 1;
    case 'silent':
      tell([
        `${name} has not answered for ${duration(options.timeout * second)}: it is not known what became of the update.`,
        `On the machine: ${logOf(view.run)}. Once ${name} answers: ${name} instance follow`,
      ]);
      return 1;
  }
}

function tellLines({ stdout, stderr, colour }: Context, lines: readonly string[], json: boolean): void {
  const shown = colour && !json ? lines.map(paintMark) : lines;
  (json ? stderr : stdout).write(shown.map((line) => `${line}\n`).join(''));
}

type Why = 'ended' | 'interrupted' | 'unknown' | 'logged-out' | 'silent';

/** Keeps the view up to date, and shows it, until there is no more to see. */
async function watch(
  context: Context,
  { reader }: Connection,
  { run, timeout, json }: FollowOptions,
  view: View,
): Promise<Why> {
  const printer = printerFor(context, json);
  const stop = new AbortController();
  let why: Why | null = null;
  const giveUp = (reason: Why) => {
    why ??= reason;
    stop.abort();
  };
  let loggedOutSince: number | null = null;
  let lookedAt = context.now();
  const look = () => {
    const at = context.now();
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
  context.signal.addEventListener('abort', interrupt);
  if (context.signal.aborted) interrupt();
  const ticking = setInterval(look, second);
  try {
    printer.begin(view, context.now());
    for await (const news of followRun(reader, { run: run.id, signal: stop.signal })) {
      printer.news(news);
      note(view, news, context.now());
      loggedOutSince = isLoggedOut(news, view) ? (loggedOutSince ?? context.now()) : null;
      if (news.kind === 'unknown') why = 'unknown';
      else if (view.run.outcome !== null) why = 'ended';
      else look();
    }
  } finally {
    clearInterval(ticking);
    context.signal.removeEventListener('abort', interrupt);
  }
  printer.end(view, context.now());
  return why ?? 'interrupted';
}

/** A redirect, and a proxy's own 401, are something else's while svc may be away; svc itself says 401, too. */
const isLoggedOut = (news: News, { run }: View): boolean =>
  news.kind === 'unheard' &&
  news.refused.kind === 'logged-out' &&
  ((news.refused.status === 401 && news.refused.inFront === null) || !mayBeAway(run));

function note(view: View, news: News, now: number): void {
  if (news.kind === 'unheard') {
    view.refused = news.refused;
    return;
  }
  view.heardAt = now;
  view.refused = null;
  if (news.kind !== 'run') return;
  view.run = shownAll(news.run);
  view.toldAt = now;
}

function printerFor(context: Context, json: boolean): Printer {
  if (json) return new JsonEvents(context.stdout, context.stderr);
  return context.isTerminal ? new LiveList(context) : new PlainLines(context.stdout);
}

export const tellUsually = (run: Run, status: Status | null): { lines: string[]; exitCode: number } => ({
  lines: endingLines(run, status),
  exitCode: exitCodeOf(run.outcome),
});

/** What goes on when nobody looks any more. */
function farewell(run: Run): string {
  const { state, jobs } = run;
  const { name } = names();
  const following = `The update goes on. Follow it: ${name} instance follow.`;
  if (mayBeAway(run)) return `${following} It can no longer be stopped.`;
  if (state !== 'waiting') return `${following} Stop it: ${name} instance cancel.`;
  return `It still waits for ${count(jobs.length, 'job')} and starts by itself. Stop it: ${name} instance cancel.`;
}

/** A run that has ended already: nothing to follow. */
export async function tellPast(
  context: Context,
  { reader }: Connection,
  run: ToldRun,
  json: boolean,
): Promise<number> {
  if (json) context.stdout.write(jsonLine({ event: 'run', data: run }));
  const answer = json ? null : await reader.status();
  const status = answer?.kind === 'ok' && isForAdmins(answer.value) ? shownAll(answer.value) : null;
  const { lines, exitCode } = tellUsually(shownAll(run), status);
  tellLines(context, lines, json);
  return exitCode;
}
