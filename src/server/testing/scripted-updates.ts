import type { InstanceUpdates } from '../contract/instance-updates.ts';
import { createRequestHandler } from '../http/handler.ts';
import { createLibraryMethods } from '../http/library-methods.ts';
import type { Script } from './script.ts';
import { ScriptedUpdateApi } from './scripted-update-api.ts';

/**
 * Creates a library object that simulates updates from a script, to test pages without an engine, feed, queue or store.
 * The same script always plays the same way. Runs have the ids `run1`, `run2` and so on.
 */
export function createScriptedUpdates(script: Script = {}): InstanceUpdates {
  const path = script.path ?? '/api/v1/instance/update';
  const service = new ScriptedUpdateApi(script);
  const response = createRequestHandler(service, {
    path,
    authorize: (request) => {
      if (service.disturbance === 'logged-out') return null;
      return script.authorize ? script.authorize(request) : 'admin';
    },
    log: () => {},
  });
  return {
    ...createLibraryMethods(service, { path, name: service.product.name }),
    handle: async (request) =>
      (await script.intercept?.(request)) ?? (await disturbed(service, request.signal)) ?? response(request),
    start: async () => service.begin(),
    close: () => service.end(),
    on: (event, listener) => service.listeners.on(event, listener),
  };
}

/** Returns a disturbed response, such as a proxy's error page; undefined if requests are not disturbed. */
async function disturbed(service: ScriptedUpdateApi, signal: AbortSignal): Promise<Response | undefined> {
  switch (service.disturbance) {
    case 'closed':
      return Response.error();
    case 'bad-gateway':
      return page(502, 'Bad Gateway');
    case 'html':
      return page(200, 'Log in');
    case 'silence':
      await service.waitUntilResponsive(signal);
  }
}

const page = (status: number, title: string) =>
  new Response(`<!doctype html><title>${title}</title><h1>${title}</h1>`, {
    status,
    headers: { 'Content-Type': 'text/html; charset=utf-8', 'Cache-Control': 'no-store' },
  });
