import { targetFor } from '../../release/channel.ts';
import type { Settings } from '../contract/options.ts';
import { channelSchema, startSchema } from '../contract/schemas.ts';
import { eventStream, hasSeenTheEnd, wantsEventStream } from './event-stream.ts';
import { commonHeaders, jsonResponse, problemResponse, Refusal } from './problem.ts';
import { readBody } from './read-body.ts';
import { isSameOrigin } from './same-origin.ts';
import type { UpdateService } from './update-service.ts';

type Handler = (request: Request) => Promise<Response>;
interface Endpoint {
  /** What somebody who is no admin gets in its place; by default nothing. */
  forUser?: () => Response;
  /** It must come from the instance's own pages. */
  changes?: boolean;
  answer: Handler;
}

/**
 * The endpoints (docs/contract.md 8.6 and docs/contract.md 8.8) below `path`, without a slash at the end. Never rejects:
 * whatever goes wrong is answered with problem+json, and what the host has to know is told to its log.
 */
export function createHandler(
  service: UpdateService,
  { path, authorize, log }: Pick<Settings, 'path' | 'authorize' | 'log'>,
): Handler {
  const routes = endpoints(service, path);

  async function answer(request: Request): Promise<Response> {
    const route = routes.get(new URL(request.url).pathname);
    if (!route) throw new Refusal(404, 'There is nothing here.');
    const endpoint = route.get(request.method);
    if (!endpoint) {
      const allowed = [...route.keys()].join(', ');
      throw new Refusal(405, `Only ${allowed}.`, { headers: { Allow: allowed } });
    }
    const caller = await authorize(request);
    if (caller !== 'admin' && caller !== 'user') throw new Refusal(401, 'Log in first.');
    if (caller === 'user') {
      if (endpoint.forUser) return endpoint.forUser();
      throw new Refusal(403, 'Only an admin may do this.');
    }
    if (endpoint.changes && !isSameOrigin(request)) {
      throw new Refusal(403, 'A request with a cookie must come from the same origin.');
    }
    return endpoint.answer(request);
  }

  return async (request) => {
    try {
      return await answer(request);
    } catch (error) {
      if (error instanceof Refusal) return problemResponse(error);
      tell(log, error);
      return problemResponse(new Refusal(500, "Something went wrong; the server's log says what."));
    }
  };
}

function endpoints(service: UpdateService, path: string): Map<string, Map<string, Endpoint>> {
  const status: Endpoint = {
    forUser: () => jsonResponse(200, { version: service.version }),
    answer: async ({ url }) => {
      const refresh = new URL(url).searchParams.get('refresh') === '1';
      return jsonResponse(200, await service.status({ refresh }));
    },
  };

  const start: Endpoint = {
    changes: true,
    answer: async (request) => {
      const target = (await readBody(request, startSchema))?.target;
      const started = await service.start(target === undefined ? null : targetFor(target));
      if ('run' in started) return jsonResponse(202, started.run, { Location: `${path}/progress` });
      throw new Refusal(409, started.reason.message, { reason: started.reason });
    },
  };

  const progress: Endpoint = {
    answer: async ({ headers }) => {
      const record = await service.record();
      if (!record) throw new Refusal(404, 'There has been no update yet.');
      if (!wantsEventStream(headers.get('accept'))) return jsonResponse(200, record.run);
      const lastEventId = headers.get('last-event-id');
      // EventSource comes back for ever unless it is told that there is no more.
      if (hasSeenTheEnd(record, lastEventId))
        return new Response(null, { status: 204, headers: commonHeaders });
      return new Response(eventStream(record, lastEventId, service.closing), {
        headers: {
          ...commonHeaders,
          'Content-Type': 'text/event-stream',
          // Without this header nginx collects events until a buffer is full.
          'X-Accel-Buffering': 'no',
        },
      });
    },
  };

  const channel: Endpoint = {
    changes: true,
    answer: async (request) => {
      const choice = await readBody(request, channelSchema);
      if (!choice) throw new Refusal(400, 'The body must name the channel.');
      return jsonResponse(200, await service.setChannel(choice.channel));
    },
  };

  // The routes are Maps, as a method of a request may be called `constructor`.
  return new Map([
    [
      path,
      new Map([
        ['GET', status],
        ['POST', start],
      ]),
    ],
    [`${path}/progress`, new Map([['GET', progress]])],
    [`${path}/channel`, new Map([['PUT', channel]])],
  ]);
}

function tell(log: Settings['log'], cause: unknown): void {
  try {
    log({ level: 'error', message: 'a request to the update endpoints failed', cause });
  } catch {
    // The host's log is no reason to leave somebody without an answer.
  }
}
