import type { Awaitable } from '../contract/instance-options.ts';

/** A function of the application failed or did not respond before the timeout. */
export class ApplicationError extends Error {
  override readonly name = 'ApplicationError';
  /** Name of the called function, for example `queue.hold` or `store.get`. */
  readonly asked: string;

  constructor(requested: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.asked = requested;
  }
}

/**
 * Calls a function of the application. Calls `onLate` if the function finishes after the timeout.
 * @throws ApplicationError if the function fails or does not respond in time
 */
export async function callApplication<T>(
  name: string,
  call: () => Awaitable<T>,
  deadlineMs: number,
  onLate: () => void = () => {},
): Promise<T> {
  let isLate = false;
  const settled = () => {
    if (isLate) onLate();
  };
  // The async function turns synchronous errors into rejections.
  const response = (async () => call())();
  // Handles a rejection after the deadline, when nothing awaits the result any more.
  response.then(settled, settled);
  try {
    const late = () => new ApplicationError(name, `${name}() did not respond within ${deadlineMs / 1000} s`);
    return await awaitUntilDeadline(response, deadlineMs, late);
  } catch (cause) {
    isLate = true;
    throw cause instanceof ApplicationError
      ? cause
      : new ApplicationError(name, `${name}() failed`, { cause });
  }
}

/** Settles like `work`, or rejects with the error from `late` if the deadline passes first. */
export async function awaitUntilDeadline<T>(
  work: Promise<T>,
  deadlineMs: number,
  late: () => Error,
): Promise<T> {
  const { promise: over, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(late()), deadlineMs);
  try {
    return await Promise.race([work, over]);
  } finally {
    clearTimeout(timer);
  }
}
