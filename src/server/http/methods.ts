import * as z from 'zod/mini';
import english from 'zod/v4/locales/en.js';
import type { InstanceUpdates } from '../contract/instance-updates.ts';
import {
  automaticSchema,
  channelSchema,
  rollbackSchema,
  skipSchema,
  startSchema,
} from '../contract/schemas.ts';
import { requestedDestination } from './endpoints.ts';
import type { UpdateService } from './update-service.ts';

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
      throw new TypeError(`${name}-updater: invalid argument of ${method}()\n${z.prettifyError(error)}`);
    return data;
  };
  const startOf = ({ when = 'now', force = false }: Pick<z.infer<typeof startSchema>, 'when' | 'force'>) => {
    if (when === 'idle' && force)
      throw new TypeError(`${name}-updater: when: "idle" and force cannot be combined`);
    return { when, force };
  };
  return {
    matches: (request) => {
      const { pathname } = new URL(request.url);
      return pathname === path || pathname.startsWith(`${path}/`);
    },
    status: (asked) => service.status(asked),
    update: async ({ by = name, ...order } = {}) => {
      const said = valid('update', startSchema, order);
      return service.start({ ...requestedDestination(said), ...startOf(said), by });
    },
    rollbackOffer: () => service.rollbackOffer(),
    rollback: async ({ by = name, ...order }) => {
      const said = valid('rollback', rollbackSchema, order);
      return service.rollback({ confirm: said.confirm, ...startOf(said), by });
    },
    cancel: ({ by = name } = {}) => service.cancel(by),
    setChannel: async (channel) =>
      service.setChannel(valid('setChannel', channelSchema, { channel }).channel),
    skip: async (version) => service.skip(valid('skip', skipSchema, { version }).version),
    setAutomatic: async (choice) => service.setAutomatic(valid('setAutomatic', automaticSchema, choice)),
    history: () => service.history(),
  };
}
