import { productOf, svc } from '../../progress/product.ts';
import type { InstanceUpdates } from '../contract/instance-updates.ts';
import { createHandler } from '../http/handler.ts';
import { disturbed } from './disturbed.ts';
import type { Script } from './script.ts';
import { ScriptedService } from './scripted-service.ts';

/**
 * What `createInstanceUpdates` gives, played from a script, for those who build pages: without an engine, a feed, a queue
 * or a store. The same script plays the same way each time; runs are called `run1`, `run2` and so on.
 */
export function createScriptedUpdates(script: Script = {}): InstanceUpdates {
  const path = script.path ?? '/api/v1/instance/update';
  const { name } = productOf(script.product ?? svc);
  const service = new ScriptedService(script);
  const answer = createHandler(service, {
    path,
    authorize: (request) => {
      if (service.disturbance === 'logged-out') return null;
      return script.authorize ? script.authorize(request) : 'admin';
    },
    log: () => {},
  });
  return {
    handle: async (request) =>
      (await script.intercept?.(request)) ?? (await disturbed(service, request.signal)) ?? answer(request),
    matches: ({ url }) => {
      const { pathname } = new URL(url);
      return pathname === path || pathname.startsWith(`${path}/`);
    },
    start: async () => service.begin(),
    close: () => service.end(),
    status: (options) => service.status(options),
    update: ({ target, when = 'now', force = false, by = name } = {}) =>
      service.start({ target: target ?? null, when, force, by }),
    cancel: ({ by = name } = {}) => service.cancel(by),
    setChannel: (channel) => service.setChannel(channel),
    history: () => service.history(),
    on: (event, listener) => service.on(event, listener),
  };
}
