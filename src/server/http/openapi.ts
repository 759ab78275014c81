import * as z from 'zod/mini';
import { logLevels, phases } from '../../core/progress/event.ts';
import {
  createKeywordField,
  createOptionalField,
  createPercentField,
  createTextField,
  defineSchema,
} from '../../wire/response-fields.ts';
import * as shapes from '../../wire/status.ts';
import { fieldDescriptions } from '../contract/schemas.ts';
import {
  createJsonContent,
  createProblemResponseObject,
  type Endpoint,
  joinIntoParagraph,
  type ResponseObject,
} from './endpoint.ts';
import { endpoints } from './operations.ts';
import { maxBodyBytes } from './read-json-body.ts';

/**
 * Generates an OpenAPI 3.1 document from the table of endpoints and the server's schemas.
 * @param path - base path of the endpoints
 * @param version - version of this package
 * @param product - name of the product that is updated
 */
export function openApi(path: string, version: string, product = 'svc'): object {
  return {
    openapi: '3.1.1',
    info: {
      title: `Update API of ${/^[aeiou]|^svc$/.test(product) ? 'an' : 'a'} ${product} instance`,
      version,
      license: { name: 'MIT', identifier: 'MIT' },
      description: joinIntoParagraph([
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
    paths: Object.fromEntries(
      [...Map.groupBy(endpoints, ({ at }) => at)].map(([at, those]) => [
        `${path}${at}`,
        Object.fromEntries(those.flatMap(buildOperations)),
      ]),
    ),
    components: {
      schemas: componentSchemas(),
      responses: Object.fromEntries(
        Object.entries(responses).map(([name, response]) => [name, withHeaders(response)]),
      ),
      headers: {
        CacheControl: { schema: { const: 'no-store' } },
        NoSniff: { schema: { const: 'nosniff' } },
      },
      securitySchemes: {
        host: {
          type: 'apiKey',
          in: 'cookie',
          name: 'session',
          description: joinIntoParagraph([
            'The application authenticates requests, for example with a session cookie or a token.',
            'This scheme is a placeholder for the authentication method that the application uses.',
          ]),
        },
      },
    },
  };
}

/** Returns the endpoint's OpenAPI operation and, if the method is GET, also the HEAD operation. */
function buildOperations(endpoint: Endpoint): [method: string, operation: object][] {
  const { id: operationId, method, summary, parameters, body } = endpoint;
  const names = Object.entries(commonResponseNamesOf(endpoint));
  const own = Object.entries(ownResponses(endpoint)).map(([status, one]) => [status, withHeaders(one)]);
  const references = names.map(([status, name]) => [status, { $ref: `#/components/responses/${name}` }]);
  const operation = {
    operationId,
    summary,
    ...(parameters && { parameters }),
    ...(body && { requestBody: requestBody(body) }),
    responses: Object.fromEntries([...own, ...references]),
  };
  if (method !== 'GET') return [[method.toLowerCase(), operation]];
  // HEAD has all responses of GET, including errors, but without bodies.
  const all = {
    ...ownResponses(endpoint),
    ...Object.fromEntries(names.map(([s, name]) => [s, responses[name]])),
  };
  const bare = Object.entries(all).map(([status, { content: _, ...one }]) => [status, withHeaders(one)]);
  const head = { operationId: operationId.replace('get', 'head'), responses: Object.fromEntries(bare) };
  return [
    ['get', operation],
    ['head', { ...operation, ...head }],
  ];
}

const requestBody = ({ name, description, missing }: NonNullable<Endpoint['body']>): object => ({
  required: missing !== undefined,
  ...(description !== undefined && { description }),
  content: createJsonContent(name),
});

const location = {
  required: true,
  description: "URL path for the run's progress",
  schema: { type: 'string', format: 'uri-reference' },
};

const ownResponses = ({
  status = 200,
  success,
  content,
  isLocated = false,
  others,
}: Endpoint): Record<string, ResponseObject> => ({
  [status]: { description: success, ...(isLocated && { headers: { Location: location } }), content },
  ...others,
});

/** Returns the names of the common responses that the endpoint can have, keyed by status code. */
function commonResponseNamesOf({
  method,
  body,
  answerUser,
  startsUpdater,
}: Endpoint): Record<string, keyof typeof responses> {
  return {
    '401': 'Unauthorized',
    ...(!answerUser && { '403': method === 'GET' && !startsUpdater ? 'Forbidden' : 'ForbiddenChange' }),
    ...(body && { '400': 'BadBody', '408': 'LateBody', '413': 'LargeBody', '415': 'OtherBody' }),
    '500': 'InternalError',
    '503': 'Unavailable',
  };
}

const withHeaders = ({ description, headers, content }: ResponseObject): object => ({
  description,
  headers: {
    'Cache-Control': { $ref: '#/components/headers/CacheControl' },
    'X-Content-Type-Options': { $ref: '#/components/headers/NoSniff' },
    ...headers,
  },
  ...(content && { content }),
});

const responses = {
  Unauthorized: createProblemResponseObject('The application does not recognize the sender.'),
  Forbidden: createProblemResponseObject('The user is not an admin.'),
  ForbiddenChange: createProblemResponseObject(
    joinIntoParagraph([
      'The user is not an admin, or the request may come from another site.',
      'A request is treated as coming from another site if `Sec-Fetch-Site` or `Origin` does not match the instance.',
      'A request with a cookie or a browser login is rejected if it has neither `Sec-Fetch-Site` nor `Origin`.',
    ]),
  ),
  NotFound: createProblemResponseObject('There is no such endpoint.'),
  MethodNotAllowed: createProblemResponseObject('The endpoint does not support this method.', {
    Allow: { required: true, schema: { type: 'string' }, description: 'The supported methods' },
  }),
  BadBody: createProblemResponseObject(
    'The body is not JSON in UTF-8 or does not match the schema. `detail` describes the error.',
  ),
  LateBody: createProblemResponseObject('The request body did not arrive within 10 s.'),
  LargeBody: createProblemResponseObject(`The body is larger than ${maxBodyBytes} bytes.`),
  OtherBody: createProblemResponseObject('The body is not application/json.'),
  InternalError: createProblemResponseObject(
    "An unexpected error occurred. See the server's log for details.",
  ),
  Unavailable: createProblemResponseObject(
    'The application or the engine does not respond, the server is shutting down, or 100 event streams are already open.',
    { 'Retry-After': { required: true, schema: { type: 'string' }, description: 'Seconds' } },
  ),
};

const lineShape = defineSchema('Line', 'A line of the updater log', {
  time: createTextField(),
  level: createKeywordField(logLevels),
  phase: createKeywordField(phases),
  percent: createOptionalField(createPercentField()),
  message: createTextField(),
});

/** Request schemas reject unknown members; response schemas allow them. */
const componentSchemas = (): object => ({
  ...Object.fromEntries(
    [...Object.values(shapes), lineShape].map(({ name, component }) => [name, component]),
  ),
  ...Object.fromEntries(
    endpoints.flatMap(({ body }) => (body ? [[body.name, requestSchema(body.schema)]] : [])),
  ),
});

function requestSchema(schema: z.ZodMiniType): object {
  const { $schema, ...component } = z.toJSONSchema(schema, { io: 'input', metadata: fieldDescriptions });
  return component;
}
