import { EngineApi } from '../../../src/engine/engine-api.ts';
import { startEngine } from '../../engine/http-engine.ts';

export interface Reply {
  status?: number;
  /** Sent as JSON, a text as it is. */
  body?: unknown;
}

export interface AskedEngine {
  engine: EngineApi;
  /** `POST /containers/create`, without the version. */
  asked: string[];
  /** Of those that had one. */
  // biome-ignore lint/suspicious/noExplicitAny: what was sent
  bodies: any[];
}

/** An engine that answers a call, such as `GET /version`, as it is told; what it is not told of is not there. */
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
