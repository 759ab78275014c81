import { EngineApi } from '../../../src/engine/engine-api.ts';
import { startEngine } from '../../engine/http-engine.ts';

export interface Reply {
  status?: number;
  /** Sent as JSON; a string is sent unchanged. */
  body?: unknown;
}

export interface AskedEngine {
  engine: EngineApi;
  /** The requests, such as `POST /containers/create`, without the API version. */
  asked: string[];
  /** The bodies of the requests that had one. */
  // biome-ignore lint/suspicious/noExplicitAny: any JSON
  bodies: any[];
}

/** An engine with a given response for each call, such as `GET /version`; without a response, it returns 404. */
export async function startAsked(
  answer: (call: string, query: URLSearchParams) => Reply | undefined,
): Promise<AskedEngine> {
  const asked: string[] = [];
  const bodies: unknown[] = [];
  const address = await startEngine((from, to) => {
    const { pathname, searchParams } = new URL(from.url ?? '', 'http://engine');
    const call = `${from.method} ${decodeURIComponent(pathname.replace(/^\/v1\.\d+/, ''))}`;
    asked.push(call);
    let text = '';
    from.setEncoding('utf8').on('data', (piece: string) => {
      text += piece;
    });
    from.on('end', () => {
      if (text !== '') bodies.push(JSON.parse(text));
      const { status = 200, body = {} } = answer(call, searchParams) ?? {
        status: 404,
        body: { message: 'no such thing' },
      };
      to.writeHead(status).end(typeof body === 'string' ? body : JSON.stringify(body));
    });
  });
  return { engine: new EngineApi(address), asked, bodies };
}
