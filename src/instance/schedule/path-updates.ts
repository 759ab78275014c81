import { nextOnPath } from '../../wire/path.ts';
import type { PendingStep, Reason, Run } from '../../wire/status.ts';
import { askHost } from '../host/ask-host.ts';
import { keepLooking } from '../host/keep-looking.ts';
import type { ServerContext } from '../run/server-context.ts';

/** What the rest of the server does for it. */
interface Doors {
  /** The last run, as the store has it. @throws HostFailure */
  last(): Promise<Run | null>;
  /** Goes on with the path of a run that has ended, by the next release. */
  start(run: Run, to: string): Promise<{ run: Run } | { reason: Reason }>;
}

/** For so long a path waits for the platform, in milliseconds. */
const patienceMs = 3_600_000;

/**
 * Goes on with the path of the last run (docs/contract.md 8.38). What is still to come stands in that run, and so in the
 * store: the server of each release finds it there.
 */
export class PathUpdates {
  readonly #context: ServerContext;
  readonly #doors: Doors;
  /** Why the next update has not begun, by the run that it comes after. */
  #said: { after: string; reason: string } | null = null;

  constructor(context: ServerContext, doors: Doors) {
    this.#context = context;
    this.#doors = doors;
  }

  /** What the last run of all is followed by; null where it ends no step of a path. */
  after(last: Run | null | undefined): PendingStep | null {
    const to = last ? nextOnPath(last) : null;
    if (!last || to === null || last.endedAt === null) return null;
    const until = new Date(Date.parse(last.endedAt) + patienceMs).toISOString();
    const reason = this.#said?.after === last.id ? this.#said.reason : null;
    return { to, reason, since: last.endedAt, until };
  }

  /** Ends the path of a run; the run as it is then. @throws HostFailure */
  async leave(run: Run): Promise<Run> {
    const past = await this.#context.ledger.changePast(run.id, (now) => ({
      ...now,
      run: { ...now.run, upgradePath: [] },
    }));
    return past?.run ?? { ...run, upgradePath: [] };
  }

  /** Looks from here on, until the server closes. */
  async start(): Promise<void> {
    const { settings, timing } = this.#context;
    const failed = (cause: Error) =>
      settings.log({ level: 'warn', message: 'the next step of the upgrade path was not started', cause });
    await keepLooking(() => this.#look(), failed, { ...this.#context, pause: timing.path, wakenBy: 'end' });
  }

  async #look(): Promise<void> {
    const { settings } = this.#context;
    const last = await this.#doors.last();
    const between = this.after(last);
    if (last === null || between === null) return;
    const { to } = between;
    if (Date.now() > Date.parse(between.until)) {
      const goal = last.upgradePath.at(-1);
      const why = this.#said?.reason ?? 'the next update was not started in time';
      await this.leave(last);
      return settings.log({
        level: 'warn',
        message: `stopped the upgrade path to ${goal} before ${to}: ${why}`,
      });
    }
    // What has ended is another server's: one that is still there, or not yet.
    if (last.to !== settings.version) return;
    const reason = await this.#ask(settings.version);
    const answer = reason === null ? await this.#doors.start(last, to) : { reason };
    if ('run' in answer) this.#said = null;
    else
      this.#said = {
        after: last.id,
        reason: typeof answer.reason === 'string' ? answer.reason : answer.reason.message,
      };
  }

  /** Why the platform is not ready for the next release; null where it is. */
  async #ask(version: string): Promise<string | null> {
    const { settings, timing } = this.#context;
    const { afterStep } = settings;
    if (afterStep === null) return null;
    try {
      const answer: unknown = await askHost('afterStep', () => afterStep({ version }), timing.host);
      return typeof answer === 'string' && answer !== '' ? answer : null;
    } catch (error) {
      // What the platform throws is its own word, and an admin's to read.
      const { cause, message } = error as Error;
      return cause instanceof Error ? cause.message : message;
    }
  }
}
