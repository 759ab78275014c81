import { updateTargetOf } from '../../core/release/channel.ts';
import type { CancelReason, Reason, Rehearsal, Run } from '../../wire/status.ts';
import {
  automaticUpdateSettingsSchema,
  channelRequestSchema,
  rehearsalRequestSchema,
  rollbackRequestSchema,
  skipRequestSchema,
  updateRequestSchema,
} from '../contract/schemas.ts';
import {
  createJsonContent,
  createProblemResponseObject,
  createSchemaReference,
  type Endpoint,
  joinIntoParagraph,
} from './endpoint.ts';
import {
  addServerTime,
  createEventStream,
  hasReceivedLastEvent,
  isEventStreamRequested,
} from './event-stream.ts';
import { createLibraryEndpoint } from './library-endpoint.ts';
import { commonResponseHeaders, createJsonResponse, createRetryLaterError, ProblemError } from './problem.ts';

const maxOpenStreams = 100;

const requireStartedRun = (begun: { run: Run } | { reason: Reason | CancelReason }): object => {
  if ('reason' in begun) throw new ProblemError(409, begun.reason.message, begun);
  return addServerTime(begun.run);
};
function requireStartedRehearsal(
  begun: { rehearsal: Rehearsal } | { reason: Reason | CancelReason },
): Rehearsal {
  if ('reason' in begun) throw new ProblemError(409, begun.reason.message, begun);
  return begun.rehearsal;
}
const returnUnchanged = (result: object): object => result;
const createConflictResponse = (description: string) => ({ '409': createProblemResponseObject(description) });

const flag = (name: string, description: string) => ({
  name,
  in: 'query',
  description,
  schema: { type: 'string', examples: ['1'] },
});

const getStatus: Endpoint = {
  id: 'getStatus',
  method: 'GET',
  at: '',
  summary: 'Get the running version, the available release and whether an update can start',
  parameters: [
    flag(
      'refresh',
      'Set to 1 to read the release feed again, at most once every 10 seconds. Otherwise, a cached result is returned.',
    ),
    flag('notes', 'Set to 1 to get the release notes for all releases up to `next`'),
  ],
  success: 'The status. Users who are not admins get the version and whether an update is in progress.',
  content: {
    'application/json': {
      schema: { anyOf: [createSchemaReference('Status'), createSchemaReference('Version')] },
    },
  },
  answerUser: async ({ service }) =>
    createJsonResponse(200, { version: service.version, updating: await service.isUpdating() }),
  answer: async ({ service }, { url }) => {
    const { searchParams } = new URL(url);
    const isSet = (name: string) => searchParams.get(name) === '1';
    return createJsonResponse(
      200,
      await service.status({ refresh: isSet('refresh'), notes: isSet('notes') }),
    );
  },
};

/** Properties that are common to the endpoints for starting an update and a rollback. */
const startEndpointFields = {
  status: 202,
  success: 'The update was started. With `when: "idle"`, it may still be waiting for running jobs.',
  content: createJsonContent('ToldRun'),
  isLocated: true,
  others: createConflictResponse('The update cannot start now. `reason` (a Reason) gives the cause.'),
  told: requireStartedRun,
} as const;

const update = createLibraryEndpoint({
  id: 'startUpdate',
  method: 'POST',
  at: '',
  summary: 'Start an update',
  body: {
    name: 'Start',
    schema: updateRequestSchema,
    description:
      'Without a body, the update installs `next` from the status. `when: "idle"` and `force: true` cannot be combined.',
  },
  ...startEndpointFields,
  ask: (service, { target = null, when = 'now', force = false, allSteps = false, settings }, by) =>
    service.start({
      // Unless `allSteps` is set, the target `canary` replaces any canary build.
      target: target === null || allSteps ? target : updateTargetOf(target),
      when,
      force,
      by,
      ...(allSteps && { allSteps }),
      ...(settings && { settings }),
    }),
});

const rehearse = createLibraryEndpoint({
  id: 'startRehearsal',
  method: 'POST',
  at: '/rehearsal',
  summary: 'Rehearse an update: try it on a copy of the data',
  body: {
    name: 'RehearsalStart',
    schema: rehearsalRequestSchema,
    description: 'Without a body, `next` from the status is rehearsed.',
  },
  status: 202,
  success: 'The rehearsal was started. `rehearsal` in the status contains its progress and result.',
  content: createJsonContent('Rehearsal'),
  others: createConflictResponse('The rehearsal cannot start now. `reason` (a Reason) gives the cause.'),
  ask: (service, { target = null, settings }, by) =>
    service.rehearse({
      target: target === null ? null : updateTargetOf(target),
      by,
      ...(settings && { settings }),
    }),
  told: requireStartedRehearsal,
});

const cancelRehearsal: Endpoint = {
  id: 'cancelRehearsal',
  method: 'DELETE',
  at: '/rehearsal',
  summary: 'Cancel the running rehearsal',
  status: 202,
  success: 'The cancellation was requested. The state becomes `cancelled`, unless the rehearsal ends first.',
  content: createJsonContent('Rehearsal'),
  others: createConflictResponse(
    'There is no rehearsal to cancel. `reason` (a CancelReason) gives the cause.',
  ),
  answer: async ({ service }) =>
    createJsonResponse(202, requireStartedRehearsal(await service.cancelRehearsal())),
};

const getProgress: Endpoint = {
  id: 'getProgress',
  method: 'GET',
  at: '/progress',
  summary: 'Get the current or last run',
  parameters: [
    {
      name: 'Last-Event-ID',
      in: 'header',
      description: 'For event streams: the id of the last event that the client received',
      schema: { type: 'string', examples: ['7d865e959b24:12'] },
    },
    {
      name: 'lastEventId',
      in: 'query',
      description: 'For pages that cannot set the `Last-Event-ID` header. The header takes precedence.',
      schema: { type: 'string', examples: ['7d865e959b24:12'] },
    },
  ],
  success: 'The run, or a stream of its events if `Accept` is `text/event-stream`.',
  content: {
    ...createJsonContent('ToldRun'),
    'text/event-stream': {
      schema: {
        type: 'string',
        description: joinIntoParagraph([
          'The first event is a `run` event with the current state (`data` is a ToldRun).',
          'Each new log line is sent as a `line` event (`data` is a Line).',
          'Each change to the run is sent as another `run` event.',
          'Ids have the form `<run id>:<line number>`.',
          'A client that reconnects with Last-Event-ID receives every line that it missed.',
          'The last event is a `run` event with an outcome and the id `<run id>:end`.',
          'If a stream closes before the last event, reconnect. The new server process continues the stream.',
          'The server sends a comment after 15 seconds without an event.',
          'Later versions may add event names.',
        ]),
        examples: [
          'retry: 1000\n\nevent: run\nid: 7d865e959b24:0\ndata: {"id":"7d865e959b24","state":"launching",…}\n\n',
        ],
      },
    },
  },
  others: {
    '204': { description: 'The client already has the last event.' },
    '404': createProblemResponseObject('There has been no update yet.'),
  },
  answer: async ({ service, streams }, { headers, url }) => {
    const record = await service.findRunRecord();
    if (!record) throw new ProblemError(404, 'There has been no update yet.');
    if (!isEventStreamRequested(headers.get('accept')))
      return createJsonResponse(200, addServerTime(record.run));
    // A page that cannot set the header `Last-Event-ID` uses the query parameter instead.
    const lastEventId = headers.get('last-event-id') ?? new URL(url).searchParams.get('lastEventId');
    // Respond with 204, because an EventSource reconnects until it receives this status.
    if (hasReceivedLastEvent(record, lastEventId))
      return new Response(null, { status: 204, headers: commonResponseHeaders });
    if (streams.size >= maxOpenStreams)
      throw createRetryLaterError(`${maxOpenStreams} event streams are already open.`);
    const stream = Symbol();
    streams.add(stream);
    const onEnd = () => void streams.delete(stream);
    return new Response(createEventStream(record, lastEventId, service.closing, onEnd), {
      headers: {
        ...commonResponseHeaders,
        'Content-Type': 'text/event-stream',
        // Without this header, nginx holds events back until its buffer is full.
        'X-Accel-Buffering': 'no',
      },
    });
  },
};

const cancelUpdate: Endpoint = {
  id: 'cancelUpdate',
  method: 'DELETE',
  at: '/progress',
  summary: 'Cancel the current run',
  status: 202,
  success: 'The cancellation was requested. If it succeeds, the run ends with the outcome `cancelled`.',
  content: createJsonContent('ToldRun'),
  others: createConflictResponse(
    'There is no run to cancel, or it is too late to cancel the run. `reason` (a CancelReason) gives the cause.',
  ),
  answer: async ({ service }, _, by) => createJsonResponse(202, requireStartedRun(await service.cancel(by))),
};

const getHistory: Endpoint = {
  id: 'getHistory',
  method: 'GET',
  at: '/history',
  summary: 'List the last 50 runs, newest first',
  success: 'The runs, including the current one.',
  content: { 'application/json': { schema: { type: 'array', items: createSchemaReference('Run') } } },
  answer: async ({ service }) => createJsonResponse(200, await service.history()),
};

const getRollback: Endpoint = {
  id: 'getRollback',
  method: 'GET',
  at: '/rollback',
  startsUpdater: true,
  summary: 'Preview a rollback to the last restore point',
  success:
    'The effects of the rollback. An updater checks the restore point first, which may take a few minutes. The result is cached for one minute.',
  content: createJsonContent('RollbackOffer'),
  others: createConflictResponse('There is no usable restore point. `reason` (a Reason) gives the cause.'),
  answer: async ({ service }) => {
    const requested = await service.rollbackOffer();
    if ('reason' in requested) throw new ProblemError(409, requested.reason.message, requested);
    return createJsonResponse(200, requested.offer);
  },
};

const rollback = createLibraryEndpoint({
  id: 'rollback',
  method: 'POST',
  at: '/rollback',
  summary: 'Roll back to the version before the last update and restore its data',
  body: {
    name: 'Rollback',
    schema: rollbackRequestSchema,
    description: '`when: "idle"` and `force: true` cannot be combined.',
    missing: 'The body must contain `confirm`: the version to roll back to.',
  },
  ...startEndpointFields,
  ask: (service, { confirm, when = 'now', force = false }, by) =>
    service.rollback({ confirm, when, force, by }),
});

const getReport: Endpoint = {
  id: 'getReport',
  method: 'GET',
  at: '/report',
  startsUpdater: true,
  summary: 'Create a report for an issue',
  success: 'A tar.gz archive that contains no secrets. An updater creates it, which may take a minute.',
  content: { 'application/gzip': { schema: { type: 'string', format: 'binary' } } },
  answer: async ({ service }) => {
    const file = {
      'Content-Type': 'application/gzip',
      'Content-Disposition': 'attachment; filename="report.tar.gz"',
    };
    return new Response(await service.createReport(), { headers: { ...commonResponseHeaders, ...file } });
  },
};

const setChannel = createLibraryEndpoint({
  id: 'chooseChannel',
  method: 'PUT',
  at: '/channel',
  summary: 'Set the release channel',
  body: { name: 'ChannelChoice', schema: channelRequestSchema, missing: 'The body must contain `channel`.' },
  success: 'The status with the new channel.',
  content: createJsonContent('Status'),
  ask: (service, { channel }) => service.setChannel(channel),
  told: returnUnchanged,
});

const skip = createLibraryEndpoint({
  id: 'skipRelease',
  method: 'PUT',
  at: '/skip',
  summary: 'Skip the newest release, but not later releases',
  body: {
    name: 'Skip',
    schema: skipRequestSchema,
    missing: 'The body must contain `version`: a version or null.',
  },
  success: 'The updated status.',
  content: createJsonContent('Status'),
  others: createConflictResponse('The version is not the newest release on the channel.'),
  ask: (service, { version }) => service.skip(version),
  told: (status, { version }) => {
    if (status === null) throw new ProblemError(409, `${version} is not the newest release on the channel.`);
    return status;
  },
});

const setAutomatic = createLibraryEndpoint({
  id: 'setAutomatic',
  method: 'PUT',
  at: '/automatic',
  summary: 'Configure automatic updates',
  body: {
    name: 'AutomaticChoice',
    schema: automaticUpdateSettingsSchema,
    missing: 'The body must contain the settings to change.',
  },
  success: 'The status with the new settings.',
  content: createJsonContent('Status'),
  ask: (service, choice) => service.setAutomatic(choice),
  told: returnUnchanged,
});

export const libraryOperations = { update, rehearse, rollback, setChannel, skip, setAutomatic };

/** All endpoints, in the order of the OpenAPI document. */
export const endpoints: readonly Endpoint[] = [
  getStatus,
  update,
  getProgress,
  cancelUpdate,
  getHistory,
  rehearse,
  cancelRehearsal,
  getRollback,
  rollback,
  setChannel,
  skip,
  setAutomatic,
  getReport,
];
