import { Cancelled } from '../../../core/progress/stops.ts';
import { changesTag, type ServiceUpdate } from '../../plan/release-plan.ts';
import type { RunContext } from '../../run/run-context.ts';
import { startEarly } from '../../run/start-early.ts';
import type { InspectedProject } from '../inspect/installation.ts';
import { type PullLog, pullImages } from './pull-images.ts';
import { localImages, removeNames } from './tags.ts';

type References = ReadonlyMap<string, string>;

/**
 * A pull that goes on while it is asked what `up` would send, and what speaks against the update: a refusal cancels it. It is
 * only of references that name no image here, so that there is no tag to move back, and none to note before (docs/contract.md 2.8).
 */
export class EarlyPull {
  readonly #context: RunContext;
  readonly #stop = new AbortController();
  readonly #log = new HeldLog();
  #wanted: References = new Map();
  #isNew = Promise.resolve(false);
  #pulled = Promise.resolve();

  constructor(context: RunContext) {
    this.#context = context;
  }

  /** Begins it, where what is known by now is enough. What forbids the update is told by whoever plans it. @param fits `checkSpace` */
  begin(project: InspectedProject, updates: readonly ServiceUpdate[], fits: Promise<void>): void {
    const { engine, options } = this.#context;
    this.#wanted = wantedOf(updates, this.#context);
    if (this.#wanted.size === 0) return;
    const own = engine.until(this.#stop.signal);
    const deadline = performance.now() + options.limits.pullTimeoutMs;
    this.#isNew = startEarly(localImages(own, this.#wanted.values()).then((here) => here.size === 0));
    const pull = async () => {
      if (!(await this.#isNew)) return;
      await fits;
      const { compose, platform, model } = project;
      const doors = { engine: own, log: this.#log };
      await pullImages(doors, compose.by(own), this.#wanted, { deadline, platform, model });
    };
    this.#pulled = startEarly(pull());
  }

  /** The references that are pulled, and named no image before. */
  async references(): Promise<ReadonlySet<string>> {
    return new Set((await this.#isNew) ? this.#wanted.values() : []);
  }

  /** Waits for the images, by service, and says what came of them; false where others were begun with. @throws UpdateError pull-… */
  async has(wanted: References, log: PullLog): Promise<boolean> {
    const isSame =
      wanted.size === this.#wanted.size &&
      [...wanted].every(([service, to]) => this.#wanted.get(service) === to);
    if (!isSame || !(await this.#isNew)) {
      await this.end();
      return false;
    }
    this.#log.goOnIn(log);
    await this.#pulled;
    return true;
  }

  /** Nothing of it is under way any more. */
  async end(): Promise<void> {
    this.#stop.abort(new Cancelled());
    await this.#pulled.catch(() => {});
    const { engine, options } = this.#context;
    // Nobody is to find by its name what may not be what was to be proven.
    if (options.proof.release === null && options.proof.expect.length === 0) return;
    await removeNames(engine, await this.references().catch(() => []));
  }
}

/** Empty where a tag stays, is left to what is local, or may not be one at all; where room has to be left for a restore point; and out of an archive. */
function wantedOf(updates: readonly ServiceUpdate[], { options }: RunContext): References {
  if (options.data.restorePoint || options.proof.archive !== null) return new Map();
  const isNew = updates.every((update) => update.pull && changesTag(update));
  return new Map(isNew ? updates.map(({ service, to }) => [service, to]) : []);
}

/** Keeps what a pull says until the run has come to it. */
class HeldLog implements PullLog {
  #log: PullLog | null = null;
  readonly #held: ((log: PullLog) => void)[] = [];

  readonly info: PullLog['info'] = (...line) => this.#say((log) => log.info(...line));
  readonly warn: PullLog['warn'] = (...line) => this.#say((log) => log.warn(...line));
  readonly progress: PullLog['progress'] = (...line) => this.#say((log) => log.progress(...line));

  goOnIn(log: PullLog): void {
    for (const say of this.#held) say(log);
    this.#log = log;
  }

  #say(say: (log: PullLog) => void): void {
    if (this.#log === null) this.#held.push(say);
    else say(this.#log);
  }
}
