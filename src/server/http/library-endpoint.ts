import type { EndpointDependencies, LibraryOperation } from './endpoint.ts';
import { createJsonResponse, ProblemError } from './problem.ts';
import { readJsonBody } from './read-json-body.ts';

/** Whether a start request contains both `when: "idle"` and `force: true`. */
export const isContradictoryStartRequest = (given: unknown): boolean => {
  const { when, force } = Object(given) as { when?: unknown; force?: unknown };
  return when === 'idle' && force === true;
};

/** Creates an endpoint from an operation: parses the body, and converts the result to a response. */
export function createLibraryEndpoint<Said, Result>({
  ask,
  told,
  ...endpoint
}: LibraryOperation<Said, Result>) {
  const { body, status = 200 } = endpoint;
  return {
    ...endpoint,
    ask,
    answer: async (
      { service, path }: EndpointDependencies,
      request: Request,
      by: string,
    ): Promise<Response> => {
      const given = await readJsonBody(request, body.schema);
      if (given === undefined && body.missing !== undefined) throw new ProblemError(400, body.missing);
      const said = given ?? body.schema.parse({});
      if (isContradictoryStartRequest(said))
        throw new ProblemError(400, '`when: "idle"` and `force: true` cannot be combined.');
      const result = told(await ask(service, said, by), said);
      return createJsonResponse(status, result, endpoint.isLocated ? { Location: `${path}/progress` } : {});
    },
  };
}
