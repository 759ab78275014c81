import { nextOnPath } from '../../wire/path.ts';
import type { PendingStep, Reason, Run } from '../../wire/status.ts';
import { askHost } from '../host/ask-host.ts';
import { keepLooking } from '../host/keep-looking.ts';
import type { ServerContext } from '../run/server-context.ts';

/** The functions that this class needs. */
interface Doors {
  /** The last run in the store. @throws HostFailure */
  last(): Promise<Run | null>;
  /** Starts the next step after a finished run. */
  start(run: Run, to: string): Promise<{ run: Run } | { reason: Reason }>;
}

/** How long an upgrade path waits for the host application, in milliseconds. */
const patienceMs = 3_600_000;

/**
 * Continues the upgrade path of the last run (docs/contract.md 8.38). The remaining steps are stored with that run, so the
 * server of each new release finds them.
 */
export class PathUpdates {
  readonly #context: ServerContext;
  readonly #doors: Doors;
  /** Why the next step has not started. */
  #said: { after: string; reason: string } | null = null;

  constructor(context: ServerContext, doors: Doors) {
    this.#context = context;
    this.#doors = doors;
  }

  /** The step after the last run; null if there is none. */
  after(last: Run | null | undefined): PendingStep | null {
    const to = last ? nextOnPath(last) : null;
    if (!last || to === null || last.endedAt === null) return null;
    const until = new Date(Date.parse(last.endedAt) + patienceMs).toISOString();
    const reason = this.#said?.after === last.id ? this.#said.reason : null;
    return { to, reason, since: last.endedAt, until };
  }

  /** Stops the upgrade path of a run and returns the changed run. @throws HostFailure */
  async leave(run: Run): Promise<Run> {
    const past = await this.#context.ledger.changePast(run.id, (now) => ({
      ...now,
      run: { ...now.run, upgradePath: [] },
    }));
    return past?.run ?? { ...run, upgradePath: [] };
  }

  /** Checks regularly until the server closes. */
  async start(): Promise<void> {
    const { settings, timing } = this.#context;
    const failed = (cause: Error) =>
      settings.log({ level: 'warn', message: 'the next step of the upgrade path was not started', cause });
    await keepLooking(() => this.#look(), failed, { ...this.#context, pause: timing.path, wakenBy: 'end' });
  }

  async #look(): Promise<void> {
    const { settings } = this.#context;
    const last = await this.#doors.last();
    const pending = this.after(last);
    if (last === null || pending === null) return;
    const { to } = pending;
    if (Date.now() > Date.parse(pending.until)) {
      const goal = last.upgradePath.at(-1);
      const why = this.#said?.reason ?? 'the next update was not started in time';
      await this.leave(last);
      return settings.log({
        level: 'warn',
        message: `stopped the step-by-step upgrade to ${goal} before installing ${to}: ${why}`,
      });
    }
    // Only the server of the installed release continues the path.
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

  /** Why the host application is not ready for the next step; null if it is. */
  async #ask(version: string): Promise<string | null> {
    const { settings, timing } = this.#context;
    const { afterStep } = settings;
    if (afterStep === null) return null;
    try {
      const answer: unknown = await askHost('afterStep', () => afterStep({ version }), timing.host);
      return typeof answer === 'string' && answer !== '' ? answer : null;
    } catch (cause) {
      // Only the operator may see the text of an exception. It is logged once, because the call is repeated.
      if (this.#said?.reason !== checkFailed)
        settings.log({ level: 'warn', message: 'afterStep failed', cause });
      return checkFailed;
    }
  }
}

const checkFailed = 'the check before the next step failed; the log of the server has the details';
