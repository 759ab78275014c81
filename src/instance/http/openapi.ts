import { componentSchemas } from './openapi-schemas.ts';
import { bodyLimit } from './read-body.ts';

/**
 * The endpoints as an OpenAPI 3.1 document; what they take and give comes from the schemas that the server itself goes
 * by. `path` is where they are, `version` that of this package, `product` the name of what is updated.
 */
export function openApi(path: string, version: string, product = 'svc'): object {
  return {
    openapi: '3.1.1',
    info: {
      title: `Updates of ${/^[aeiou]|^svc$/.test(product) ? 'an' : 'a'} ${product} instance`,
      version,
      license: { name: 'MIT', identifier: 'MIT' },
      description:
        'How an instance is told of releases and replaces itself by one. For admins; other users are told the version ' +
        'and whether an update is on. Every mistake is answered with application/problem+json (RFC 9457). Who asks is ' +
        'looked at first; then another path below these gets 404 (`#/components/responses/NotFound`), another method ' +
        '405 (`#/components/responses/MethodNotAllowed`).\n\nAnswers grow: there may be more members than these, and ' +
        'other words where it says that more may come. Requests do not: an unknown member is 400.',
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
          description:
            "Authentication is the host's: whatever it takes (a session's cookie, a token) says who is an admin, who " +
            'is a user, and who is nobody. This stands in for it.',
        },
      },
    },
  };
}

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
  Unauthorized: problem('The host knows nobody who sends this.'),
  Forbidden: problem('Not an admin.'),
  ForbiddenChange: problem(
    'Not an admin; or a request that a page of another site may have sent: `Sec-Fetch-Site`, else `Origin`, is not ' +
      "the instance's own, or there is neither, and a cookie or a login of the browser's.",
  ),
  NotFound: problem('There is nothing here.'),
  MethodNotAllowed: problem('Another method.', {
    Allow: { required: true, schema: { type: 'string' }, description: 'Those that there are' },
  }),
  BadBody: problem('The body is not JSON in UTF-8, or not of its schema; `detail` says what is wrong.'),
  LateBody: problem('The body was not complete within 10 s.'),
  LargeBody: problem(`The body is larger than ${bodyLimit} bytes.`),
  OtherBody: problem('The body is not application/json.'),
  InternalError: problem("Something went wrong, which only the server's log tells."),
  Unavailable: problem('The host does not answer, the server is closing, or it has 100 event streams open.', {
    'Retry-After': { required: true, schema: { type: 'string' }, description: 'In seconds' },
  }),
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
  summary: 'What runs, what is offered, and whether an update may start',
  parameters: [
    flag(
      'refresh',
      'With 1, releases are read again now, at most once every 10 s; else the answer is from memory',
    ),
    flag('notes', 'With 1, `releases` tells what is new in each release up to `next`'),
  ],
  responses: {
    '200': {
      description: 'The status; for a user who is no admin, the version and whether an update is on.',
      headers,
      content: { 'application/json': { schema: { anyOf: [schema('Status'), schema('Version')] } } },
    },
    ...always,
  },
};

const startUpdate = {
  operationId: 'startUpdate',
  summary: 'Starts an update',
  requestBody: {
    required: false,
    description:
      'Left out, the update is to `next` of the status. `when: "idle"` and `force: true` are not for one request.',
    content: json('Start'),
  },
  responses: {
    '202': {
      description: 'It has begun; with `when: "idle"` it may be waiting for jobs.',
      headers: {
        ...headers,
        Location: {
          required: true,
          description: 'Where its progress is',
          schema: { type: 'string', format: 'uri-reference' },
        },
      },
      content: json('ToldRun'),
    },
    ...changeByBody,
    '409': problem('It may not start now; `reason` (a Reason) says why.'),
  },
};

const getRollback = {
  operationId: 'getRollback',
  summary: 'The effects of a rollback to the last restore point',
  responses: {
    '200': {
      description: 'An updater has looked, which may take minutes; the answer is remembered for one.',
      headers,
      content: json('RollbackOffer'),
    },
    ...forAdmins,
    '409': problem('There is no restore point, or it cannot be used; `reason` (a Reason) gives the cause.'),
  },
};

const rollback = {
  operationId: 'rollback',
  summary: 'Rolls back to the version before the last update and restores the data saved then',
  requestBody: {
    required: true,
    description: '`when: "idle"` and `force: true` are not for one request.',
    content: json('Rollback'),
  },
  responses: startUpdate.responses,
};

const getProgress = {
  operationId: 'getProgress',
  summary: 'The current update, or the last one',
  parameters: [
    {
      name: 'Last-Event-ID',
      in: 'header',
      description: 'Of an event stream: the id of the last event that was received',
      schema: { type: 'string', examples: ['7d865e959b24:12'] },
    },
    {
      name: 'lastEventId',
      in: 'query',
      description: 'The same, for pages that cannot set the header; the header counts where there are both',
      schema: { type: 'string', examples: ['7d865e959b24:12'] },
    },
  ],
  responses: {
    '200': {
      description: 'The run; where Accept names text/event-stream, as it goes on.',
      headers,
      content: {
        ...json('ToldRun'),
        'text/event-stream': {
          schema: {
            type: 'string',
            description:
              'First an event `run` with the state (`data` is a ToldRun), then `line` for each further line of the log ' +
              '(`data` is a Line) and `run` after every change of the run. Ids are `<run id>:<number of the line>`. ' +
              'Who comes back with Last-Event-ID gets every line since. The last event is a `run` with its outcome, ' +
              'its id `<run id>:end`. A stream that ends without one goes on at the next server. A comment breaks ' +
              'every 15 s of silence. Events of another name may come.',
            examples: [
              'retry: 1000\n\nevent: run\nid: 7d865e959b24:0\ndata: {"id":"7d865e959b24","state":"launching",…}\n\n',
            ],
          },
        },
      },
    },
    '204': { description: 'Last-Event-ID is of the last event that there is.', headers },
    ...forAdmins,
    '404': problem('There has been no update yet.'),
  },
};

const cancelUpdate = {
  operationId: 'cancelUpdate',
  summary: 'Asks the open run to stop',
  responses: {
    '202': {
      description: 'It was asked; the end of the run tells whether that was in time.',
      headers,
      content: json('ToldRun'),
    },
    ...change,
    '409': problem('There is nothing to stop, or it is too late; `reason` (a CancelReason) says which.'),
  },
};

const getHistory = {
  operationId: 'getHistory',
  summary: 'The last 50 runs, newest first',
  responses: {
    '200': {
      description: 'The runs, the open one among them.',
      headers,
      content: { 'application/json': { schema: { type: 'array', items: schema('Run') } } },
    },
    ...forAdmins,
  },
};

const chooseChannel = {
  operationId: 'chooseChannel',
  summary: 'Chooses the channel that releases are offered from',
  requestBody: { required: true, content: json('ChannelChoice') },
  responses: {
    '200': { description: 'The status with the new channel.', headers, content: json('Status') },
    ...changeByBody,
  },
};

const skipRelease = {
  operationId: 'skipRelease',
  summary: 'Says nothing of the newest release any more, until there is a newer one',
  requestBody: { required: true, content: json('Skip') },
  responses: {
    '200': { description: 'The status without it, or with it again.', headers, content: json('Status') },
    ...changeByBody,
    '409': problem('It is not the newest release of the channel.'),
  },
};

const setAutomatic = {
  operationId: 'setAutomatic',
  summary: 'Sets whether what is offered starts by itself, and when',
  requestBody: { required: true, content: json('AutomaticChoice') },
  responses: {
    '200': { description: 'The status, by what is set now.', headers, content: json('Status') },
    ...changeByBody,
  },
};
