import { targetFor } from '../../core/release/channel.ts';
import type { StartOrder } from '../contract/instance-updates.ts';
import {
  automaticSchema,
  channelSchema,
  rollbackSchema,
  skipSchema,
  startSchema,
} from '../contract/schemas.ts';
import { eventStream, hasSeenTheEnd, toldRun, wantsEventStream } from './event-stream.ts';
import { comeBack, commonHeaders, jsonResponse, Refusal } from './problem.ts';
import { readBody } from './read-body.ts';
import type { UpdateService } from './update-service.ts';

/** Event streams of one server at a time. */
const mostStreams = 100;

/** `by` is who asks. */
type Answer = (request: Request, by: string) => Promise<Response>;
export interface Endpoint {
  /** What somebody who is no admin gets in its place; by default nothing. */
  forUser?: Answer;
  answer: Answer;
}

/** By path and method; HEAD is GET's. The routes are Maps, as a method of a request may be called `constructor`. */
export function endpoints(service: UpdateService, path: string): Map<string, Map<string, Endpoint>> {
  const status: Endpoint = {
    forUser: async () =>
      jsonResponse(200, { version: service.version, updating: await service.isUpdating() }),
    answer: async ({ url }) => {
      const { searchParams } = new URL(url);
      const isSet = (name: string) => searchParams.get(name) === '1';
      return jsonResponse(200, await service.status({ refresh: isSet('refresh'), notes: isSet('notes') }));
    },
  };

  const start: Endpoint = {
    answer: async (request, by) => {
      const said = (await readBody(request, startSchema)) ?? {};
      const { when = 'now', force = false } = said;
      refuseBoth(when, force);
      return begun(await service.start({ ...requestedDestination(said), when, force, by }));
    },
  };

  const offerRollback: Endpoint = {
    answer: async () => {
      const asked = await service.rollbackOffer();
      if ('reason' in asked) throw new Refusal(409, asked.reason.message, asked);
      return jsonResponse(200, asked.offer);
    },
  };

  const rollback: Endpoint = {
    answer: async (request, by) => {
      const order = await readBody(request, rollbackSchema);
      if (!order) throw new Refusal(400, 'The body must contain `confirm`: the version to roll back to.');
      const { confirm, when = 'now', force = false } = order;
      refuseBoth(when, force);
      return begun(await service.rollback({ confirm, when, force, by }));
    },
  };

  const begun = (started: Awaited<ReturnType<UpdateService['start']>>): Response => {
    if ('reason' in started) throw new Refusal(409, started.reason.message, started);
    return jsonResponse(202, toldRun(started.run), { Location: `${path}/progress` });
  };

  const streams = new Set<symbol>();

  const progress: Endpoint = {
    answer: async ({ headers, url }) => {
      const record = await service.record();
      if (!record) throw new Refusal(404, 'There has been no update yet.');
      if (!wantsEventStream(headers.get('accept'))) return jsonResponse(200, toldRun(record.run));
      // A page that comes back by itself cannot set the header.
      const lastEventId = headers.get('last-event-id') ?? new URL(url).searchParams.get('lastEventId');
      // EventSource comes back for ever unless it is told that there is no more.
      if (hasSeenTheEnd(record, lastEventId))
        return new Response(null, { status: 204, headers: commonHeaders });
      if (streams.size >= mostStreams) throw comeBack(`${mostStreams} event streams are already open.`);
      const stream = Symbol();
      streams.add(stream);
      const onEnd = () => void streams.delete(stream);
      return new Response(eventStream(record, lastEventId, service.closing, onEnd), {
        headers: {
          ...commonHeaders,
          'Content-Type': 'text/event-stream',
          // Without this header nginx collects events until a buffer is full.
          'X-Accel-Buffering': 'no',
        },
      });
    },
  };

  const cancel: Endpoint = {
    answer: async (_, by) => {
      const cancelled = await service.cancel(by);
      if ('reason' in cancelled) throw new Refusal(409, cancelled.reason.message, cancelled);
      return jsonResponse(202, toldRun(cancelled.run));
    },
  };

  const history: Endpoint = { answer: async () => jsonResponse(200, await service.history()) };

  const channel: Endpoint = {
    answer: async (request) => {
      const choice = await readBody(request, channelSchema);
      if (!choice) throw new Refusal(400, 'The body must contain `channel`.');
      return jsonResponse(200, await service.setChannel(choice.channel));
    },
  };

  const skip: Endpoint = {
    answer: async (request) => {
      const choice = await readBody(request, skipSchema);
      if (!choice) throw new Refusal(400, 'The body must contain `version`: a version or null.');
      const status = await service.skip(choice.version);
      if (status === null)
        throw new Refusal(409, `${choice.version} is not the newest release on the channel.`);
      return jsonResponse(200, status);
    },
  };

  const automatic: Endpoint = {
    answer: async (request) => {
      const choice = await readBody(request, automaticSchema);
      if (!choice) throw new Refusal(400, 'The body must contain the settings to change.');
      return jsonResponse(200, await service.setAutomatic(choice));
    },
  };

  const at = (methods: Record<string, Endpoint>) => new Map(Object.entries(methods));
  return new Map([
    [path, at({ GET: status, POST: start })],
    [`${path}/progress`, at({ GET: progress, DELETE: cancel })],
    [`${path}/history`, at({ GET: history })],
    [`${path}/rollback`, at({ GET: offerRollback, POST: rollback })],
    [`${path}/channel`, at({ PUT: channel })],
    [`${path}/skip`, at({ PUT: skip })],
    [`${path}/automatic`, at({ PUT: automatic })],
  ]);
}

/** A way ends at a release; a single update to a canary build goes by the floating tag. */
export const requestedDestination = ({
  target,
  allSteps = false,
}: {
  target?: string | undefined;
  allSteps?: boolean | undefined;
}): Pick<StartOrder, 'target' | 'allSteps'> => ({
  target: target === undefined ? null : allSteps ? target : targetFor(target),
  ...(allSteps && { allSteps }),
});

function refuseBoth(when: 'now' | 'idle', force: boolean): void {
  if (when !== 'idle' || !force) return;
  throw new Refusal(400, '`when: "idle"` and `force: true` cannot be combined.');
}
