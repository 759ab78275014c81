import { createServer, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { toNodeHandler } from '../../../src/server/index.ts';
import { createScriptedUpdates, type Script } from '../../../src/server/testing/index.ts';

/** The strictest content security policy. The elements must work with it. */
export const strictPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

export interface Asked {
  method: string;
  /** Including the query. */
  path: string;
  headers: IncomingHttpHeaders;
  isStream: boolean;
}

export interface PageServer {
  port: number;
  /** Requests to the endpoints, in order. */
  asked: Asked[];
  /** Replaces the scripted server with another one at the same address. */
  play(script: Script): Promise<void>;
  /** The attributes of the notice in the page. */
  attributes: string;
  body: string;
  /** The body of a page without the usual navigation; null for the usual page. */
  wholeBody: string | null;
  /** Scripts and style sheets of the page, by path. */
  files: Record<string, string>;
  /** The content security policy; by default the strictest one. */
  policy: string;
  close(): Promise<void>;
}

let bundle: Promise<string> | undefined;

/** The elements as they are published. */
export const readElements = async (): Promise<string> => {
  const { bundleElements } = await import(
    new URL('../../../scripts/lib/web-bundle.mjs', import.meta.url).href
  );
  bundle ??= bundleElements().then(({ code }: { code: string }) => code) as Promise<string>;
  return bundle;
};

const css = `
html { color-scheme: light dark; background: light-dark(#f6f6f4, #121316); color: light-dark(#1a1b1e, #ececef) }
body { margin: 0; font: 14px/1.5 system-ui, sans-serif; min-height: 100vh; display: grid; grid-template-columns: minmax(140px, 220px) 1fr }
nav { background: light-dark(#f1f1ee, #141619); padding: 16px 12px; display: flex; flex-direction: column; justify-content: space-between }
main { padding: 24px }
a { color: inherit }
`;

const pageText = ({ attributes, body, wholeBody }: PageServer) => `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>svc</title><link rel="stylesheet" href="/page.css"><script type="module" src="/elements.mjs"></script></head>
<body>${
  wholeBody ??
  `<nav aria-label="Places"><a href="/">Jobs</a><svc-update-notice ${attributes}></svc-update-notice></nav>
<main><h1>Jobs</h1>${body}</main>`
}</body></html>`;

/** Serves a page with the elements and scripted endpoints on a free port. */
export async function servePage(script: Script = {}): Promise<PageServer> {
  let updates = createScriptedUpdates(script);
  await updates.start();
  const files: Record<string, string> = { '/elements.mjs': await readElements(), '/page.css': css };
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    const send = (type: string, content: string) => {
      response.writeHead(200, { 'Content-Type': type, 'Content-Security-Policy': page.policy });
      response.end(content);
    };
    const path = request.url ?? '/';
    const file = page.files[path];
    if (file !== undefined) return send(path.endsWith('.css') ? 'text/css' : 'text/javascript', file);
    if (path.startsWith('/api/')) {
      asked.push({
        method: request.method ?? '',
        path,
        headers: request.headers,
        isStream: isStream(request),
      });
      return toNodeHandler(updates)(request, response);
    }
    if (path === '/favicon.ico') return response.writeHead(404).end();
    send('text/html; charset=utf-8', pageText(page));
  });
  await new Promise<void>((resolve) => server.listen(0, resolve));
  const page: PageServer = {
    port: (server.address() as AddressInfo).port,
    asked,
    attributes: 'admin version="v1.4.2" settings-url="/settings"',
    body: '<p>The queue runs one at a time.</p>',
    wholeBody: null,
    files,
    policy: strictPolicy,
    play: async (next) => {
      const last = updates;
      updates = createScriptedUpdates(next);
      await updates.start();
      await last.close();
    },
    close: async () => {
      await updates.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return page;
}

const isStream = ({ headers }: IncomingMessage): boolean =>
  headers.accept?.includes('text/event-stream') ?? false;
