import type { Awaitable } from '../contract/options.ts';

/** A function of the host failed, or did not answer in time. */
export class HostFailure extends Error {
  override readonly name = 'HostFailure';
  /** `queue.hold`, `store.get` and the like. */
  readonly asked: string;

  constructor(asked: string, what: string, options?: ErrorOptions) {
    super(`${asked}() ${what}`, options);
    this.asked = asked;
  }
}

/**
 * Calls a function of the host, which may throw, reject or hang. What it does after the deadline, `onLate` is told.
 * @throws HostFailure
 */
export async function askHost<T>(
  name: string,
  call: () => Awaitable<T>,
  deadlineMs: number,
  onLate: () => void = () => {},
): Promise<T> {
  let isLate = false;
  const settled = () => {
    if (isLate) onLate();
  };
  // An async function makes a rejection of what is thrown at once, too.
  const answer = (async () => call())();
  // Nobody waits for an answer after the deadline, so its rejection is taken here.
  answer.then(settled, settled);
  try {
    const late = () => new HostFailure(name, `did not answer within ${deadlineMs / 1000} s`);
    return await inTime(answer, deadlineMs, late);
  } catch (cause) {
    isLate = true;
    throw cause instanceof HostFailure ? cause : new HostFailure(name, 'failed', { cause });
  }
}

/** Settles with the work, or rejects with what `late` makes at the deadline, whichever is first. */
export async function inTime<T>(work: Promise<T>, deadlineMs: number, late: () => Error): Promise<T> {
  const { promise: over, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(late()), deadlineMs);
  try {
    return await Promise.race([work, over]);
  } finally {
    clearTimeout(timer);
  }
}
