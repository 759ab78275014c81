import { componentSchemas } from './openapi-schemas.ts';
import { bodyLimit } from './read-body.ts';

/**
 * The endpoints as an OpenAPI 3.1 document, generated from the schemas that the server uses.
 * @param path base path of the endpoints
 * @param version version of this package
 * @param product name of the product that is updated
 */
export function openApi(path: string, version: string, product = 'svc'): object {
  return {
    openapi: '3.1.1',
    info: {
      title: `Updates of ${/^[aeiou]|^svc$/.test(product) ? 'an' : 'a'} ${product} instance`,
      version,
      license: { name: 'MIT', identifier: 'MIT' },
      description: sentences([
        'This API lists new releases and updates the instance.',
        'Most endpoints require an admin. Other users can only read the version and whether an update is in progress.',
        'Errors have the type application/problem+json (RFC 9457).',
        'Requests are authenticated before their path is checked. An unknown path returns 404 (`#/components/responses/NotFound`).',
        'An unsupported method returns 405 (`#/components/responses/MethodNotAllowed`).',
        'Later versions may add members to responses. They may also add values to a member if its description allows it.',
        'Requests with unknown members return 400.',
      ]),
    },
    security: [{ host: [] }],
    paths: {
      [path]: { get: getStatus, head: headOf(getStatus), post: startUpdate },
      [`${path}/progress`]: { get: getProgress, head: headOf(getProgress), delete: cancelUpdate },
      [`${path}/history`]: { get: getHistory, head: headOf(getHistory) },
      [`${path}/rollback`]: { get: getRollback, head: headOf(getRollback), post: rollback },
      [`${path}/channel`]: { put: chooseChannel },
      [`${path}/skip`]: { put: skipRelease },
      [`${path}/automatic`]: { put: setAutomatic },
    },
    components: {
      schemas: componentSchemas(),
      responses,
      headers: {
        CacheControl: { schema: { const: 'no-store' } },
        NoSniff: { schema: { const: 'nosniff' } },
      },
      securitySchemes: {
        host: {
          type: 'apiKey',
          in: 'cookie',
          name: 'session',
          description: sentences([
            'The host application authenticates requests, for example with a session cookie or a token.',
            'This scheme is a placeholder for the authentication method that the host application uses.',
          ]),
        },
      },
    },
  };
}

const sentences = (list: readonly string[]): string => list.join(' ');

interface Operation {
  operationId: string;
  responses: Record<string, { $ref: string } | { description: string; headers: object; content?: object }>;
}

const schema = (id: string) => ({ $ref: `#/components/schemas/${id}` });
const response = (id: keyof typeof responses) => ({ $ref: `#/components/responses/${id}` });
const json = (id: string) => ({ 'application/json': { schema: schema(id) } });
const headers = {
  'Cache-Control': { $ref: '#/components/headers/CacheControl' },
  'X-Content-Type-Options': { $ref: '#/components/headers/NoSniff' },
};
const problem = (description: string, more: object = {}) => ({
  description,
  headers: { ...headers, ...more },
  content: { 'application/problem+json': { schema: schema('Problem') } },
});

const responses = {
  Unauthorized: problem('The host application does not recognize the sender.'),
  Forbidden: problem('The user is not an admin.'),
  ForbiddenChange: problem(
    sentences([
      'The user is not an admin, or the request may come from another site.',
      'A request is treated as coming from another site if `Sec-Fetch-Site` or `Origin` does not match the instance.',
      'A request with a cookie or a browser login is rejected if it has neither `Sec-Fetch-Site` nor `Origin`.',
    ]),
  ),
  NotFound: problem('There is no such endpoint.'),
  MethodNotAllowed: problem('The endpoint does not support this method.', {
    Allow: { required: true, schema: { type: 'string' }, description: 'The supported methods' },
  }),
  BadBody: problem(
    'The body is not JSON in UTF-8 or does not match the schema. `detail` describes the error.',
  ),
  LateBody: problem('The request body did not arrive within 10 s.'),
  LargeBody: problem(`The body is larger than ${bodyLimit} bytes.`),
  OtherBody: problem('The body is not application/json.'),
  InternalError: problem("An unexpected error occurred. See the server's log for details."),
  Unavailable: problem(
    'The host application does not respond, the server is shutting down, or 100 event streams are open.',
    {
      'Retry-After': { required: true, schema: { type: 'string' }, description: 'Seconds' },
    },
  ),
};

/** The same without its contents; a problem says no more than its status. */
function headOf({ operationId, responses: told, ...rest }: Operation): object {
  const bare = Object.entries(told).map(([status, one]) => {
    const { content: _, ...response } = '$ref' in one ? responses[nameOf(one.$ref)] : one;
    return [status, response];
  });
  const id = operationId.replace('get', 'head');
  return { ...rest, operationId: id, responses: Object.fromEntries(bare) };
}
const nameOf = (ref: string) => ref.split('/').at(-1) as keyof typeof responses;

const always = {
  '401': response('Unauthorized'),
  '500': response('InternalError'),
  '503': response('Unavailable'),
};
const forAdmins = { ...always, '403': response('Forbidden') };
const change = { ...always, '403': response('ForbiddenChange') };
const changeByBody = {
  ...change,
  '400': response('BadBody'),
  '408': response('LateBody'),
  '413': response('LargeBody'),
  '415': response('OtherBody'),
};

const flag = (name: string, description: string) => ({
  name,
  in: 'query',
  description,
  schema: { type: 'string', examples: ['1'] },
});

const getStatus = {
  operationId: 'getStatus',
  summary: 'Get the running version, the available release and whether an update can start',
  parameters: [
    flag(
      'refresh',
      'Set to 1 to read the release feed again, at most once every 10 seconds. Otherwise, a cached result is returned.',
    ),
    flag('notes', 'Set to 1 to get the release notes for all releases up to `next`'),
  ],
  responses: {
    '200': {
      description:
        'The status. Users who are not admins get the version and whether an update is in progress.',
      headers,
      content: { 'application/json': { schema: { anyOf: [schema('Status'), schema('Version')] } } },
    },
    ...always,
  },
};

const startUpdate = {
  operationId: 'startUpdate',
  summary: 'Start an update',
  requestBody: {
    required: false,
    description:
      'Without a body, the update installs `next` from the status. `when: "idle"` and `force: true` cannot be combined.',
    content: json('Start'),
  },
  responses: {
    '202': {
      description: 'The update was started. With `when: "idle"`, it may still be waiting for running jobs.',
      headers: {
        ...headers,
        Location: {
          required: true,
          description: "URL path for the run's progress",
          schema: { type: 'string', format: 'uri-reference' },
        },
      },
      content: json('ToldRun'),
    },
    ...changeByBody,
    '409': problem('The update cannot start now. `reason` (a Reason) gives the cause.'),
  },
};

const getRollback = {
  operationId: 'getRollback',
  summary: 'Preview a rollback to the last restore point',
  responses: {
    '200': {
      description:
        'The effects of the rollback. An updater checks the restore point first, which may take a few minutes. The result is cached for one minute.',
      headers,
      content: json('RollbackOffer'),
    },
    ...forAdmins,
    '409': problem('There is no usable restore point. `reason` (a Reason) gives the cause.'),
  },
};

const rollback = {
  operationId: 'rollback',
  summary: 'Roll back to the version before the last update and restore its data',
  requestBody: {
    required: true,
    description: '`when: "idle"` and `force: true` cannot be combined.',
    content: json('Rollback'),
  },
  responses: startUpdate.responses,
};

const getProgress = {
  operationId: 'getProgress',
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
  responses: {
    '200': {
      description: 'The run, or a stream of its events if `Accept` is `text/event-stream`.',
      headers,
      content: {
        ...json('ToldRun'),
        'text/event-stream': {
          schema: {
            type: 'string',
            description: sentences([
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
    },
    '204': { description: 'The client already has the last event.', headers },
    ...forAdmins,
    '404': problem('There has been no update yet.'),
  },
};

const cancelUpdate = {
  operationId: 'cancelUpdate',
  summary: 'Cancel the current run',
  responses: {
    '202': {
      description:
        'The cancellation was requested. The outcome of the run shows whether the run was cancelled.',
      headers,
      content: json('ToldRun'),
    },
    ...change,
    '409': problem(
      'There is no run to cancel, or it is too late to cancel the run. `reason` (a CancelReason) gives the cause.',
    ),
  },
};

const getHistory = {
  operationId: 'getHistory',
  summary: 'List the last 50 runs, newest first',
  responses: {
    '200': {
      description: 'The runs, including the current one.',
      headers,
      content: { 'application/json': { schema: { type: 'array', items: schema('Run') } } },
    },
    ...forAdmins,
  },
};

const chooseChannel = {
  operationId: 'chooseChannel',
  summary: 'Set the release channel',
  requestBody: { required: true, content: json('ChannelChoice') },
  responses: {
    '200': { description: 'The status with the new channel.', headers, content: json('Status') },
    ...changeByBody,
  },
};

const skipRelease = {
  operationId: 'skipRelease',
  summary: 'Skip the newest release until a newer one is published',
  requestBody: { required: true, content: json('Skip') },
  responses: {
    '200': { description: 'The updated status.', headers, content: json('Status') },
    ...changeByBody,
    '409': problem('The version is not the newest release on the channel.'),
  },
};

const setAutomatic = {
  operationId: 'setAutomatic',
  summary: 'Configure automatic updates',
  requestBody: { required: true, content: json('AutomaticChoice') },
  responses: {
    '200': { description: 'The status with the new settings.', headers, content: json('Status') },
    ...changeByBody,
  },
};
