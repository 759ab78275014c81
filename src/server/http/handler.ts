import { escapeUnprintable } from '../../core/text/plain-text.ts';
import { automaticCaller } from '../../wire/codes.ts';
import { awaitUntilDeadline } from '../application/call-application.ts';
import type { Caller } from '../contract/instance-options.ts';
import type { ValidatedInstanceOptions } from '../contract/validate-options.ts';
import { UnknownSetting } from '../reasons/settings-reason.ts';
import { Unavailable, type UpdateService } from '../run/update-service.ts';
import type { Endpoint } from './endpoint.ts';
import { isEventStreamRequested } from './event-stream.ts';
import { endpoints } from './operations.ts';
import { createProblemResponse, createRetryLaterError, Refusal } from './problem.ts';
import { formatCrossOriginMessage, isCrossSiteRequest, isSameOriginRequest } from './same-origin.ts';

/** Time limit for `authorize` in milliseconds. */
const authorizeMs = 10_000;

/**
 * Creates the handler of all endpoints (docs/contract.md 8.6 and 8.8). `path` has no trailing slash. The handler never
 * rejects: every error becomes a problem+json response, and unexpected errors are logged.
 */
export function createHandler(
  service: UpdateService,
  { path, authorize, log }: Pick<ValidatedInstanceOptions, 'path' | 'authorize' | 'log'>,
): (request: Request) => Promise<Response> {
  const door = { service, path, streams: new Set<symbol>() };
  const routes = Map.groupBy(endpoints, ({ at }) => `${path}${at}`);

  async function answer(request: Request): Promise<Response> {
    // Authentication comes first, so that unauthenticated clients cannot find out which paths exist.
    const asker = await whoAsks(request);
    const endpoint = find(request);
    const { answerUser, startsUpdater = false } = endpoint;
    if (!asker.isAdmin && !answerUser) throw new Refusal(403, 'Only admins can do this.');
    const isAllowed = isReading(request)
      ? !(startsUpdater && isCrossSiteRequest(request))
      : isSameOriginRequest(request);
    if (!isAllowed) throw new Refusal(403, formatCrossOriginMessage(request));
    // A closing server still accepts event stream requests: the stream ends immediately, and the client reconnects to
    // the next server. After an error response, the client would not reconnect.
    if (service.closing.aborted && !isStream(request)) throw new Unavailable('the server is shutting down');
    return answerUser && !asker.isAdmin ? answerUser(door) : endpoint.answer(door, request, asker.by);
  }

  async function whoAsks(request: Request): Promise<Asker> {
    const asker = askerOf(await awaitUntilDeadline(Promise.resolve(authorize(request)), authorizeMs, late));
    if (!asker) throw new Refusal(401, 'Log in first.');
    return asker;
  }

  function find({ url, method }: Request): Endpoint {
    const route = routes.get(new URL(url).pathname);
    if (!route) throw new Refusal(404, 'There is no such endpoint.');
    const endpoint = route.find((one) => one.method === (method === 'HEAD' ? 'GET' : method));
    if (endpoint) return endpoint;
    const allowed = route.flatMap((one) => (one.method === 'GET' ? ['GET', 'HEAD'] : one.method)).join(', ');
    throw new Refusal(405, `Allowed methods: ${allowed}.`, { headers: { Allow: allowed } });
  }

  function refusalOf(error: unknown): Refusal {
    if (error instanceof Refusal) return error;
    if (error instanceof UnknownSetting) return new Refusal(400, error.message);
    if (error instanceof Unavailable) {
      if (!service.closing.aborted) tell(log, 'warn', error);
      return createRetryLaterError('The server is temporarily unavailable. Try again in a moment.');
    }
    tell(log, 'error', error);
    return new Refusal(500, "An unexpected error occurred. See the server's log.");
  }

  return async (request) => {
    const response = await answer(request).catch((error: unknown) => createProblemResponse(refusalOf(error)));
    return request.method === 'HEAD' ? withoutBody(response) : response;
  };
}

/** Authenticated sender of a request. */
interface Asker {
  isAdmin: boolean;
  /** Display name, which is stored in the runs that the sender starts. */
  by: string;
}

/** Maximum number of characters in a sender's name, which may come from an untrusted source. */
const nameLimit = 200;

/** Parses the result of `authorize`; null if the sender is not logged in or the result is invalid. */
function askerOf(caller: Caller | undefined): Asker | null {
  const { role, name = '' } =
    typeof caller === 'object' && caller !== null ? caller : { role: caller, name: undefined };
  if ((role !== 'admin' && role !== 'user') || typeof name !== 'string') return null;
  // Control and bidi characters are escaped, because they could change the order of text in a log or on a page.
  const shown = escapeUnprintable([...name.toWellFormed().trim()].slice(0, nameLimit).join(''));
  // If a user's name is the one reserved for automatic updates, the role replaces it. Otherwise, runs that the user
  // starts would look like automatic updates.
  return { isAdmin: role === 'admin', by: (shown !== automaticCaller && shown) || role };
}

const isReading = ({ method }: Request): boolean => method === 'GET' || method === 'HEAD';

const late = () => new Unavailable('authorize() did not respond in time');

const isStream = ({ method, headers }: Request): boolean =>
  method === 'GET' && isEventStreamRequested(headers.get('accept'));

function tell(log: ValidatedInstanceOptions['log'], level: 'warn' | 'error', cause: unknown): void {
  try {
    log({ level, message: 'a request to the update endpoints failed', cause });
  } catch {
    // The application's log function may throw, which must not prevent a response.
  }
}

function withoutBody({ status, headers, body }: Response): Response {
  body?.cancel().catch(() => {});
  return new Response(null, { status, headers });
}
