import { CancelledError } from '../../../core/cancellation/cancelled.ts';
import { hasTagChange, type ServiceUpdate } from '../../plan/release-plan.ts';
import { deferRejection } from '../../run/defer-rejection.ts';
import type { RunContext } from '../../run/run-context.ts';
import type { InspectedProject } from '../inspect/installation.ts';
import { findLocalImages, untagImages } from './local-tags.ts';
import { type PullLog, pullImages } from './pull-images.ts';

type References = ReadonlyMap<string, string>;

/**
 * Pulls images during the checks before the update (docs/contract.md 2.8). Starts only if no image is local, because
 * then no tag must be recorded or restored.
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
   * Begins the pull if a background pull is possible. The pull is cancelled if the update is refused.
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
   * Returns the references that were pulled in the background. None of them had a local image before. The set is empty
   * if no pull was started.
   */
  async references(): Promise<ReadonlySet<string>> {
    return new Set((await this.#isNew) ? this.#wanted.values() : []);
  }

  /**
   * Waits until the wanted images are pulled, and logs the progress. Returns false if no pull was started. A pull of
   * other images is cancelled, and the result is also false.
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
    // If images must be verified, remove the pulled tags. An unverified image must not be available under its tag.
    if (options.proof.release === null && options.proof.expect.length === 0) return;
    await untagImages(engine, await this.references().catch(() => []));
  }
}

/** Returns the references to pull, keyed by service. The map is empty if a background pull is not possible. */
function listBackgroundReferences(updates: readonly ServiceUpdate[], { options }: RunContext): References {
  // Pull nothing if a restore point needs the disk space or an archive contains the images.
  if (options.data.restorePoint || options.proof.archive !== null) return new Map();
  // Pull nothing in the background if an image keeps its tag or must not be pulled.
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
