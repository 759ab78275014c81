import * as z from 'zod/mini';
import { abouts } from '../contract/schemas.ts';
import { bodyLimit } from './read-body.ts';

/**
 * The endpoints as an OpenAPI 3.1 document; what they take and give comes from the schemas that the server itself goes
 * by. `path` is where they are, `version` that of this package.
 */
export function openApi(path: string, version: string): object {
  return {
    openapi: '3.1.1',
    info: {
      title: 'Updates of an svc instance',
      version,
      license: { name: 'MIT', identifier: 'MIT' },
      description:
        'How an instance is told of releases and replaces itself by one. For admins; other users are told the version. ' +
        'Every mistake is answered with application/problem+json (RFC 9457), another method with 405 ' +
        '(`#/components/responses/MethodNotAllowed`), another path below these with 404 ' +
        '(`#/components/responses/NotFound`).',
    },
    security: [{ host: [] }],
    paths: {
      [path]: { get: getStatus, post: startUpdate },
      [`${path}/progress`]: { get: getProgress },
      [`${path}/channel`]: { put: chooseChannel },
    },
    components: {
      schemas: componentSchemas(),
      responses,
      headers: { CacheControl: { schema: { const: 'no-store' } } },
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

const schema = (id: string) => ({ $ref: `#/components/schemas/${id}` });
const response = (id: keyof typeof responses) => ({ $ref: `#/components/responses/${id}` });
const json = (id: string) => ({ 'application/json': { schema: schema(id) } });
const headers = { 'Cache-Control': { $ref: '#/components/headers/CacheControl' } };
const problem = (description: string, more: object = {}) => ({
  description,
  headers: { ...headers, ...more },
  content: { 'application/problem+json': { schema: schema('Problem') } },
});

const responses = {
  Unauthorized: problem('The host knows nobody who sends this.'),
  Forbidden: problem('Not an admin.'),
  ForbiddenChange: problem('Not an admin; or a request with a cookie that is not of the same origin.'),
  NotFound: problem('There is nothing here.'),
  MethodNotAllowed: problem('Another method.', {
    Allow: { required: true, schema: { type: 'string' }, description: 'Those that there are' },
  }),
  BadBody: problem('The body is not JSON in UTF-8, or not of its schema; `detail` says what is wrong.'),
  LargeBody: problem(`The body is larger than ${bodyLimit} bytes.`),
  OtherBody: problem('The body is not application/json.'),
  InternalError: problem("Something went wrong, which only the server's log tells."),
};

const always = { '401': response('Unauthorized'), '500': response('InternalError') };
const always403 = { ...always, '403': response('Forbidden') };
const change = {
  ...always,
  '400': response('BadBody'),
  '403': response('ForbiddenChange'),
  '413': response('LargeBody'),
  '415': response('OtherBody'),
};

const getStatus = {
  operationId: 'getStatus',
  summary: 'What runs, what is offered, and whether an update may start',
  parameters: [
    {
      name: 'refresh',
      in: 'query',
      description:
        'With 1, releases are read again now, at most once every 10 s; else the answer is from memory',
      schema: { type: 'string', examples: ['1'] },
    },
  ],
  responses: {
    '200': {
      description: 'The status; for a user who is no admin, only the version.',
      headers,
      content: { 'application/json': { schema: { oneOf: [schema('Status'), schema('Version')] } } },
    },
    ...always,
  },
};

const startUpdate = {
  operationId: 'startUpdate',
  summary: 'Starts an update',
  requestBody: {
    required: false,
    description: 'Left out, the update is to `next` of the status.',
    content: json('Start'),
  },
  responses: {
    '202': {
      description: 'It has started.',
      headers: {
        ...headers,
        Location: {
          required: true,
          description: 'Where its progress is',
          schema: { type: 'string', format: 'uri-reference' },
        },
      },
      content: json('Run'),
    },
    ...change,
    '409': problem('It may not start now; `reason` says why.'),
  },
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
  ],
  responses: {
    '200': {
      description: 'The run; where Accept names text/event-stream, as it goes on.',
      headers,
      content: {
        ...json('Run'),
        'text/event-stream': {
          schema: {
            type: 'string',
            description:
              'First an event `run` with the state (`data` is a Run), then `line` for each further line of the log ' +
              '(`data` is a Line) and `run` after every change of the state. Ids are `<run id>:<number of the line>`. ' +
              'Who comes back with Last-Event-ID gets every line since. The last event is a `run` with its outcome, ' +
              'its id `<run id>:end`. A stream that ends without one goes on at the next server. A comment breaks ' +
              'every 15 s of silence.',
            examples: [
              'retry: 1000\n\nevent: run\nid: 7d865e959b24:0\ndata: {"id":"7d865e959b24","state":"launching",…}\n\n',
            ],
          },
        },
      },
    },
    '204': { description: 'Last-Event-ID is of the last event that there is.', headers },
    ...always403,
    '404': problem('There has been no update yet.'),
  },
};

const chooseChannel = {
  operationId: 'chooseChannel',
  summary: 'Chooses the channel that releases are offered from',
  requestBody: { required: true, content: json('ChannelChoice') },
  responses: {
    '200': { description: 'The status with the new channel.', headers, content: json('Status') },
    ...change,
  },
};

/** By the ids that the schemas have. */
function componentSchemas(): object {
  const { Start, ChannelChoice } = convert('input');
  return { ...convert('output'), Start, ChannelChoice };
}

/** `input`: what may be sent, before defaults; `output`: what is there afterwards. */
function convert(io: 'input' | 'output') {
  const converted = z.toJSONSchema(abouts, {
    target: 'draft-2020-12',
    io,
    metadata: abouts,
    uri: (id) => `#/components/schemas/${id}`,
    override: ({ jsonSchema }) => {
      // zod adds a pattern of 300 characters that says the same as the format.
      if (jsonSchema.format === 'date-time') delete jsonSchema.pattern;
    },
  });
  return Object.fromEntries(
    Object.entries(converted.schemas).map(([id, { $schema, $id, ...component }]) => [id, component]),
  );
}
