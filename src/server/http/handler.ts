import { escapeUnprintable } from '../../core/text/plain-text.ts';
import { automaticCaller } from '../../wire/codes.ts';
import { awaitUntilDeadline } from '../application/call-application.ts';
import type { Caller } from '../contract/instance-options.ts';
import type { ValidatedInstanceOptions } from '../contract/validate-options.ts';
import { UnknownSettingError } from '../reasons/settings-reason.ts';
import { UnavailableError, type UpdateApi } from '../run/update-api.ts';
import type { Endpoint } from './endpoint.ts';
import { isEventStreamRequested } from './event-stream.ts';
import { endpoints } from './operations.ts';
import { createProblemResponse, createRetryLaterError, ProblemError } from './problem.ts';
import { formatCrossOriginMessage, isCrossSiteRequest, isSameOriginRequest } from './same-origin.ts';

/** Time limit for `authorize` in milliseconds. */
const authorizeMs = 10_000;

/**
 * Creates the handler of all endpoints (docs/contract.md 8.6 and 8.8). The handler never rejects: errors become
 * problem+json responses, and unexpected errors are logged. `path` has no trailing slash.
 */
export function createRequestHandler(
  service: UpdateApi,
  { path, authorize, log }: Pick<ValidatedInstanceOptions, 'path' | 'authorize' | 'log'>,
): (request: Request) => Promise<Response> {
  const dependencies = { service, path, streams: new Set<symbol>() };
  const routes = Map.groupBy(endpoints, ({ at }) => `${path}${at}`);

  async function answer(request: Request): Promise<Response> {
    // Authentication comes first, so that unauthenticated clients cannot find out which paths exist.
    const asker = await whoAsks(request);
    const endpoint = find(request);
    const { answerUser, startsUpdater = false } = endpoint;
    if (!asker.isAdmin && !answerUser) throw new ProblemError(403, 'Only admins can do this.');
    const isAllowed = isReading(request)
      ? !(startsUpdater && isCrossSiteRequest(request))
      : isSameOriginRequest(request);
    if (!isAllowed) throw new ProblemError(403, formatCrossOriginMessage(request));
    // A closing server accepts a request for an event stream but ends the stream at once. The client then reconnects.
    // After an error response, the client would not reconnect.
    if (service.closing.aborted && !isStream(request))
      throw new UnavailableError('the server is shutting down');
    return answerUser && !asker.isAdmin
      ? answerUser(dependencies)
      : endpoint.answer(dependencies, request, asker.by);
  }

  async function whoAsks(request: Request): Promise<RequestSender> {
    const asker = parseSender(
      await awaitUntilDeadline(Promise.resolve(authorize(request)), authorizeMs, createAuthorizeTimeoutError),
    );
    if (!asker) throw new ProblemError(401, 'Log in first.');
    return asker;
  }

  function find({ url, method }: Request): Endpoint {
    const route = routes.get(new URL(url).pathname);
    if (!route) throw new ProblemError(404, 'There is no such endpoint.');
    const endpoint = route.find((one) => one.method === (method === 'HEAD' ? 'GET' : method));
    if (endpoint) return endpoint;
    const allowed = route.flatMap((one) => (one.method === 'GET' ? ['GET', 'HEAD'] : one.method)).join(', ');
    throw new ProblemError(405, `Allowed methods: ${allowed}.`, { headers: { Allow: allowed } });
  }

  function refusalOf(error: unknown): ProblemError {
    if (error instanceof ProblemError) return error;
    if (error instanceof UnknownSettingError) return new ProblemError(400, error.message);
    if (error instanceof UnavailableError) {
      if (!service.closing.aborted) logRequestError(log, 'warn', error);
      return createRetryLaterError('The server is temporarily unavailable. Try again in a moment.');
    }
    logRequestError(log, 'error', error);
    return new ProblemError(500, "An unexpected error occurred. See the server's log.");
  }

  return async (request) => {
    const response = await answer(request).catch((error: unknown) => createProblemResponse(refusalOf(error)));
    return request.method === 'HEAD' ? withoutBody(response) : response;
  };
}

/** Authenticated sender of a request. */
interface RequestSender {
  isAdmin: boolean;
  /** Display name, which is stored in the runs that the sender starts. */
  by: string;
}

/** Maximum number of characters in a sender's name, which may come from an untrusted source. */
const nameLimit = 200;

/** Parses the result of `authorize`. Returns null if the sender is not logged in or the result is invalid. */
function parseSender(caller: Caller | undefined): RequestSender | null {
  const { role, name = '' } =
    typeof caller === 'object' && caller !== null ? caller : { role: caller, name: undefined };
  if ((role !== 'admin' && role !== 'user') || typeof name !== 'string') return null;
  // Escape control and bidi characters, because they could reorder text in a log or on a page.
  const shown = escapeUnprintable([...name.toWellFormed().trim()].slice(0, nameLimit).join(''));
  // If a user has the name that is reserved for automatic updates, the role replaces the name. Otherwise, the user's
  // runs would look like automatic updates.
  return { isAdmin: role === 'admin', by: (shown !== automaticCaller && shown) || role };
}

const isReading = ({ method }: Request): boolean => method === 'GET' || method === 'HEAD';

const createAuthorizeTimeoutError = () => new UnavailableError('authorize() did not respond in time');

const isStream = ({ method, headers }: Request): boolean =>
  method === 'GET' && isEventStreamRequested(headers.get('accept'));

function logRequestError(
  log: ValidatedInstanceOptions['log'],
  level: 'warn' | 'error',
  cause: unknown,
): void {
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
