import { createServer, type IncomingMessage } from 'node:http';
import type { Gate } from './writer.ts';

/** A service that no restore point covers: it remembers what app and worker have written, and holds the gate before them. */
export function serveWitness(): void {
  const acknowledged = new Map<string, number>();
  let gate: Gate = 'open';
  const answer = (path: string, method: string, body: string): string => {
    if (path === '/gate') {
      if (method === 'PUT') gate = body as Gate;
      return gate;
    }
    if (method === 'POST') {
      const { boot, n } = JSON.parse(body) as { boot: string; n: number };
      acknowledged.set(boot, n);
      return gate;
    }
    return JSON.stringify(Object.fromEntries(acknowledged));
  };
  createServer(async (request, response) => {
    const body = await textOf(request);
    response.end(answer(request.url ?? '', request.method ?? '', body));
  }).listen(7000);
  process.on('SIGTERM', () => process.exit(0));
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const piece of request) text += piece;
  return text;
}
