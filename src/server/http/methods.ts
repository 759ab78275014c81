import type * as z from 'zod/mini';
import { prettifyError } from 'zod/mini';
import english from 'zod/v4/locales/en.js';
import type { InstanceUpdates } from '../contract/instance-updates.ts';
import type { UpdateService } from '../run/update-service.ts';
import { metricsOf } from './metrics.ts';
import { isContradictory, operations } from './operations.ts';

type Methods = Omit<InstanceUpdates, 'handle' | 'start' | 'close' | 'on'>;

/**
 * The methods of the library object. They validate their arguments by the schemas of the endpoints, and throw a TypeError
 * that lists all invalid values.
 * @param name name of the product, and the default of `by`
 */
export function methodsOf(service: UpdateService, { path, name }: { path: string; name: string }): Methods {
  const valid = <T>(method: string, schema: z.ZodMiniType<T>, value: unknown): T => {
    const { data, error } = schema.safeParse(value, { error: english().localeError });
    if (error)
      throw new TypeError(`${name}-updater: invalid argument of ${method}()\n${prettifyError(error)}`);
    if (isContradictory(data))
      throw new TypeError(`${name}-updater: when: "idle" and force cannot be combined`);
    return data;
  };
  const { update, rollback, setChannel, skip, setAutomatic } = operations;
  return {
    matches: (request) => {
      const { pathname } = new URL(request.url);
      return pathname === path || pathname.startsWith(`${path}/`);
    },
    status: (asked) => service.status(asked),
    update: async ({ by = name, ...order } = {}) =>
      update.ask(service, valid('update', update.body.schema, order), by),
    rollbackOffer: () => service.rollbackOffer(),
    rollback: async ({ by = name, ...order }) =>
      rollback.ask(service, valid('rollback', rollback.body.schema, order), by),
    cancel: ({ by = name } = {}) => service.cancel(by),
    setChannel: async (channel) =>
      setChannel.ask(service, valid('setChannel', setChannel.body.schema, { channel }), name),
    skip: async (version) => skip.ask(service, valid('skip', skip.body.schema, { version }), name),
    setAutomatic: async (choice) =>
      setAutomatic.ask(service, valid('setAutomatic', setAutomatic.body.schema, choice), name),
    history: () => service.history(),
    metrics: async () => metricsOf(await service.status(), await service.history().catch(() => [])),
  };
}
