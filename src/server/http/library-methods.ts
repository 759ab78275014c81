import { prettifyError } from 'zod/mini';
import english from 'zod/v4/locales/en.js';
import type { InstanceUpdates } from '../contract/instance-updates.ts';
import type { UpdateApi } from '../run/update-api.ts';
import type { LibraryOperation } from './endpoint.ts';
import { isContradictoryStartRequest } from './library-endpoint.ts';
import { formatMetrics } from './metrics.ts';
import { libraryOperations } from './operations.ts';

type Methods = Omit<InstanceUpdates, 'handle' | 'start' | 'close' | 'on'>;

/**
 * Creates the library object's methods. They validate arguments with the endpoints' schemas, and throw a TypeError that
 * lists all invalid values. `name` is the product name and the default of `by`.
 */
export function createLibraryMethods(
  service: UpdateApi,
  { path, name }: { path: string; name: string },
): Methods {
  const call = async <Said, Result>(
    method: string,
    { body, ask }: Pick<LibraryOperation<Said, Result>, 'body' | 'ask'>,
    given: unknown,
    by = name,
  ): Promise<Result> => {
    const { data, error } = body.schema.safeParse(given, { error: english().localeError });
    if (error)
      throw new TypeError(`${name}-updater: invalid argument of ${method}()\n${prettifyError(error)}`);
    if (isContradictoryStartRequest(data))
      throw new TypeError(`${name}-updater: when: "idle" and force cannot be combined`);
    return ask(service, data, by);
  };
  return {
    matches: (request) => {
      const { pathname } = new URL(request.url);
      return pathname === path || pathname.startsWith(`${path}/`);
    },
    status: (requested) => service.status(requested),
    update: async ({ by, ...order } = {}) => call('update', libraryOperations.update, order, by),
    rehearse: async ({ by, ...order } = {}) => call('rehearse', libraryOperations.rehearse, order, by),
    cancelRehearsal: () => service.cancelRehearsal(),
    rollbackOffer: () => service.rollbackOffer(),
    rollback: async ({ by, ...order }) => call('rollback', libraryOperations.rollback, order, by),
    cancel: ({ by = name } = {}) => service.cancel(by),
    setChannel: async (channel) => call('setChannel', libraryOperations.setChannel, { channel }),
    skip: async (version) => call('skip', libraryOperations.skip, { version }),
    setAutomatic: async (choice) => call('setAutomatic', libraryOperations.setAutomatic, choice),
    history: () => service.history(),
    metrics: async () => formatMetrics(await service.status(), await service.history().catch(() => [])),
  };
}
