import type * as z from 'zod/mini';
import type { UpdateApi } from '../run/update-api.ts';

export const joinIntoParagraph = (list: readonly string[]): string => list.join(' ');

export const createSchemaReference = (id: string) => ({ $ref: `#/components/schemas/${id}` });
export const createJsonContent = (id: string) => ({
  'application/json': { schema: createSchemaReference(id) },
});

export interface ResponseObject {
  description: string;
  headers?: object;
  content?: object;
}

export const createProblemResponseObject = (description: string, headers?: object): ResponseObject => ({
  description,
  ...(headers && { headers }),
  content: { 'application/problem+json': { schema: createSchemaReference('Problem') } },
});

export interface EndpointDependencies {
  service: UpdateApi;
  /** Base path of the endpoints. */
  path: string;
  /** One symbol for each open event stream. */
  streams: Set<symbol>;
}

/** HTTP endpoint, including its description in the OpenAPI document. */
export interface Endpoint {
  id: string;
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Path relative to the base path. */
  at: string;
  summary: string;
  parameters?: readonly object[];
  body?: {
    /** Name of the body's schema in the OpenAPI document. */
    name: string;
    schema: z.ZodMiniType;
    description?: string;
    /** Error message for a request without a body. If omitted, the body is optional. */
    missing?: string;
  };
  status?: 200 | 202;
  /** Description of a successful response. */
  success: string;
  content: object;
  /** Whether the response has a `Location` header, which contains the URL path of the run's progress. */
  isLocated?: boolean;
  /** Additional responses of this endpoint, keyed by status code, except those that are common to all endpoints. */
  others?: Record<string, ResponseObject>;
  /** Whether a GET request to this endpoint starts an updater container. If so, cross-site requests are rejected. */
  startsUpdater?: true;
  /** Handles requests from users who are not admins. If omitted, these requests are rejected. */
  answerUser?(dependencies: EndpointDependencies): Promise<Response>;
  answer(dependencies: EndpointDependencies, request: Request, by: string): Promise<Response>;
}

/** Endpoint that is also a method of the library object. */
export interface LibraryOperation<Said, Result> extends Omit<Endpoint, 'body' | 'answer'> {
  body: NonNullable<Endpoint['body']> & { schema: z.ZodMiniType<Said> };
  ask(service: UpdateApi, given: Said, by: string): Promise<Result>;
  /** Converts the result to the body of a successful response. @throws ProblemError if the result is a failure */
  told(result: NoInfer<Result>, given: NoInfer<Said>): object;
}
