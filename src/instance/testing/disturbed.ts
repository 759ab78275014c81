import type { ScriptedService } from './scripted-service.ts';

/** What stands between a page and the server answers in its place; undefined where nothing does. */
export async function disturbed(
  service: Pick<ScriptedService, 'disturbance' | 'calmed'>,
  signal: AbortSignal,
): Promise<Response | undefined> {
  switch (service.disturbance) {
    case 'closed':
      return Response.error();
    case 'bad-gateway':
      return page(502, 'Bad Gateway');
    case 'html':
      return page(200, 'Log in');
    case 'silence':
      await service.calmed(signal);
      return undefined;
    default:
      return undefined;
  }
}

const page = (status: number, title: string) =>
  new Response(`<!doctype html><title>${title}</title><h1>${title}</h1>`, {
    status,
    headers: { 'Content-Type': 'text/html; charset=utf-8', 'Cache-Control': 'no-store' },
  });
