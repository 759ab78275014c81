import { removeCancelledCallPrefix } from './compose-output.ts';

/** Matches messages about an unreachable engine, or about a proxy whose engine does not respond. */
const unreached =
  /Cannot connect to the Docker daemon|error during connect|failed to connect to the docker API|request returned 50[234] .* for API route|response from daemon: (?:<|\\u003c).*(?<!\d)50[234]\b/im;
/** Matches messages about a connection that was interrupted during a response. */
const broken = /connection reset by peer|socket: no such file|unexpected EOF$|: EOF$/im;
/**
 * Matches errors from the engine itself. They may be about other connections, such as the engine's connection to a
 * registry.
 */
const engineError = /error (?:response from daemon|from registry): .*/gi;

/**
 * Matches the message about a call that was cancelled because another call failed. Only the other call's error shows
 * whether the connection was lost.
 */
const cancelledCall = /error during connect: [^\n]*?context canceled/g;

export function isConnectionLost(stderr: string): boolean {
  const given = removeCancelledCallPrefix(stderr).replaceAll(cancelledCall, '');
  return unreached.test(given) || broken.test(given.replaceAll(engineError, ''));
}
