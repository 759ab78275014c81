import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { escapeUnprintable } from '../../core/text/plain-text.ts';
import type { LogEntry } from '../../feed/create-feed.ts';
import { createInstanceUpdates, fileStore, toNodeHandler } from '../index.ts';
import { createAuthorizer } from './create-authorizer.ts';
import { ProductCallbackClient, RepeatedCallbackFailureError } from './product-callback-client.ts';
import { readServeSettings } from './serve-settings.ts';

/** Runs `svc-updater serve` until SIGTERM or SIGINT (docs/contract.md 8.45). @returns the exit code */
export async function serve(env: NodeJS.ProcessEnv): Promise<number> {
  const elements = await readFile(new URL('elements.mjs', import.meta.url));
  const read = await readServeSettings(env);
  if ('mistakes' in read) {
    for (const message of read.mistakes) log({ level: 'error', message });
    return 2;
  }
  const { options, path, port, storeDirectory, callbacksUrl, secret, queue } = read.settings;
  const product = callbacksUrl === null ? null : new ProductCallbackClient({ callbacksUrl, secret });
  const updates = createInstanceUpdates({
    ...options,
    path,
    authorize: createAuthorizer(read.settings, product),
    ...(product && queue === null && { queue: product }),
    store: fileStore(storeDirectory),
    log,
  });
  const handle = toNodeHandler(updates);
  const server = createServer((request, response) => {
    const [requested] = (request.url ?? '').split('?');
    if (requested === '/healthz') response.end('ok\n');
    else if (requested === `${path}/elements.js`)
      response
        .setHeader('Content-Type', 'text/javascript')
        .setHeader('Cache-Control', 'max-age=300')
        .end(elements);
    else handle(request, response);
  });
  const stopped = Promise.race(['SIGTERM', 'SIGINT'].map((signal) => once(process, signal)));
  await once(server.listen(port), 'listening');
  log({ level: 'info', message: `listening on port ${port}` });
  await Promise.race([updates.start(), stopped]);
  await stopped;
  product?.close();
  await updates.close();
  server.close();
  server.closeAllConnections();
  return 0;
}

function log(entry: LogEntry): void {
  const line = formatLogEntry(entry);
  if (line !== null) console.log(line);
}

/**
 * Formats a log entry and all its causes as one line. Returns null for a repeated callback failure. Escapes unprintable
 * characters, because messages may contain text from the product, a registry or a feed.
 */
export function formatLogEntry({ level, message, cause }: LogEntry): string | null {
  const causes: string[] = [];
  for (let each = cause; each instanceof Error; each = each.cause) {
    if (each instanceof RepeatedCallbackFailureError) return null;
    causes.push(each.message);
  }
  return escapeUnprintable([`${level.toUpperCase()} ${message}`, ...causes].join(': '));
}
