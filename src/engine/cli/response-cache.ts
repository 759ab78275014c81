import type { EngineFilters } from '../engine-request-sender.ts';
import type { EngineRequest, EngineResponse } from '../http/request.ts';
import type { ListedContainer } from '../objects/container.ts';

/** Remembers the responses to GET requests until another request is sent. */
export class ResponseCache {
  readonly #responses = new Map<string, Promise<EngineResponse>>();

  /** Returns the known response, or sends the request. A failure, or a status of 500 or more, is not remembered. */
  exchange({ method, path }: EngineRequest, send: () => Promise<EngineResponse>): Promise<EngineResponse> {
    if (method !== 'GET') {
      this.#responses.clear();
      // Clear the responses again, because some may have arrived while this request was changing something.
      return send().finally(() => this.#responses.clear());
    }
    const known = this.#responses.get(path);
    if (known) return known;
    const response = send();
    this.#responses.set(path, response);
    const forget = () => {
      if (this.#responses.get(path) === response) this.#responses.delete(path);
    };
    response.then(({ status }) => status >= 500 && forget(), forget);
    return response;
  }
}

/** Applies the engine's filters for labels and statuses. Returns null if there are other filters. */
export function filterContainers(
  containers: readonly ListedContainer[],
  { label = [], status, ...others }: EngineFilters,
): ListedContainer[] | null {
  if (Object.keys(others).length > 0) return null;
  const hasLabel = (labels: Readonly<Record<string, string>>, text: string) => {
    const [key = '', ...value] = text.split('=');
    return key in labels && (value.length === 0 || labels[key] === value.join('='));
  };
  return containers.filter(
    ({ labels, status: current }) =>
      (status?.includes(current) ?? true) && label.every((each) => hasLabel(labels, each)),
  );
}
