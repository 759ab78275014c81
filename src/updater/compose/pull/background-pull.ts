import { CancelledError } from '../../../core/cancellation/cancelled.ts';
import { hasTagChange, type ServiceUpdate } from '../../plan/release-plan.ts';
import { deferRejection } from '../../run/defer-rejection.ts';
import type { RunContext } from '../../run/run-context.ts';
import type { InspectedProject } from '../inspect/installation.ts';
import { findLocalImages, untagImages } from './local-tags.ts';
import { type PullLog, pullImages } from './pull-images.ts';

type References = ReadonlyMap<string, string>;

/**
 * Pulls images in the background, during the dry run of `up` and other checks. Starts only if none of the images is
 * local, because then no tag has to be recorded or restored (docs/contract.md 2.8).
 */
export class BackgroundPull {
  readonly #context: RunContext;
  readonly #stop = new AbortController();
  readonly #log = new BufferedLog();
  #wanted: References = new Map();
  #isNew = Promise.resolve(false);
  #pulled = Promise.resolve();

  constructor(context: RunContext) {
    this.#context = context;
  }

  /**
   * Begins to pull the images if a background pull is possible. The pull is cancelled if the update is refused.
   * @param fits - result of `requireSpaceToPull`, which rejects if the images do not fit on the disk
   */
  begin(project: InspectedProject, updates: readonly ServiceUpdate[], fits: Promise<void>): void {
    const { engine, options } = this.#context;
    this.#wanted = listBackgroundReferences(updates, this.#context);
    if (this.#wanted.size === 0) return;
    const own = engine.until(this.#stop.signal);
    const deadline = performance.now() + options.limits.pullTimeoutMs;
    this.#isNew = deferRejection(findLocalImages(own, this.#wanted.values()).then((here) => here.size === 0));
    const pull = async () => {
      if (!(await this.#isNew)) return;
      await fits;
      const { compose, platform, model } = project;
      const dataContext = { engine: own, log: this.#log };
      await pullImages(dataContext, compose.by(own), this.#wanted, { deadline, platform, model });
    };
    this.#pulled = deferRejection(pull());
  }

  /**
   * Returns the references of the background pull, none of which had a local image before. Empty if no background pull
   * was started.
   */
  async references(): Promise<ReadonlySet<string>> {
    return new Set((await this.#isNew) ? this.#wanted.values() : []);
  }

  /**
   * Waits until the wanted images are pulled, and logs the progress. Returns false if no background pull was started.
   * If the background pull is for other images, cancels it and returns false.
   * @param wanted - references, keyed by service
   * @throws UpdateError pull-…
   */
  async awaitImages(wanted: References, log: PullLog): Promise<boolean> {
    const isSame =
      wanted.size === this.#wanted.size &&
      [...wanted].every(([service, to]) => this.#wanted.get(service) === to);
    if (!isSame || !(await this.#isNew)) {
      await this.cancel();
      return false;
    }
    this.#log.forwardTo(log);
    await this.#pulled;
    return true;
  }

  /** Cancels the pull and waits until it has stopped. If images must be verified, also removes the pulled tags. */
  async cancel(): Promise<void> {
    this.#stop.abort(new CancelledError());
    await this.#pulled.catch(() => {});
    const { engine, options } = this.#context;
    // If images must be verified, remove their tags: an unverified image must not be available under its tag.
    if (options.proof.release === null && options.proof.expect.length === 0) return;
    await untagImages(engine, await this.references().catch(() => []));
  }
}

/**
 * Returns the references to pull in the background, keyed by service. Empty if any image keeps its tag or must not be
 * pulled, if a restore point needs the disk space, or if the images are in an archive.
 */
function listBackgroundReferences(updates: readonly ServiceUpdate[], { options }: RunContext): References {
  if (options.data.restorePoint || options.proof.archive !== null) return new Map();
  const isNew = updates.every((update) => update.shouldPull && hasTagChange(update));
  return new Map(isNew ? updates.map(({ service, to }) => [service, to]) : []);
}

/** Buffers the log lines of a pull until the run waits for the pull. */
class BufferedLog implements PullLog {
  #log: PullLog | null = null;
  readonly #held: ((log: PullLog) => void)[] = [];

  readonly info: PullLog['info'] = (...line) => this.#say((log) => log.info(...line));
  readonly warn: PullLog['warn'] = (...line) => this.#say((log) => log.warn(...line));
  readonly progress: PullLog['progress'] = (...line) => this.#say((log) => log.progress(...line));

  forwardTo(log: PullLog): void {
    for (const say of this.#held) say(log);
    this.#log = log;
  }

  #say(say: (log: PullLog) => void): void {
    if (this.#log === null) this.#held.push(say);
    else say(this.#log);
  }
}
