// The server, with the update endpoints and a page with the elements.
import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createInstanceUpdates, fileStore, toNodeHandler } from 'svc-updater/instance';
import { product } from './product.ts';

const { VERSION = 'dev', ADMIN_TOKEN, UPDATER_IMAGE, UPDATER_NAME, FEED } = process.env;
if (!ADMIN_TOKEN || !UPDATER_IMAGE) throw new Error('ADMIN_TOKEN or UPDATER_IMAGE is not set');
const secret = hash('sha256', ADMIN_TOKEN);

const updates = createInstanceUpdates({
  product,
  version: VERSION,
  updaterImage: UPDATER_IMAGE,
  updaterPull: 'missing',
  // For a mirror of the releases.
  ...(FEED && { feed: { url: FEED } }),
  // For a second larder on the same engine.
  ...(UPDATER_NAME && { containerName: UPDATER_NAME }),
  // The client sends the token. Browsers send the cookie that your login page sets.
  authorize({ headers }) {
    const bearer = headers.get('authorization')?.replace(/^Bearer /, '');
    const session = /(?:^|; )session=([^;]+)/.exec(headers.get('cookie') ?? '')?.[1];
    return hash('sha256', bearer ?? session ?? '') === secret ? { role: 'admin', name: 'ada' } : null;
  },
  store: fileStore('/data/updates'),
});

const readText = (name: string) => readFileSync(new URL(name, import.meta.url), 'utf8');
const page = readText('page.html').replace('VERSION', VERSION);
const elements = readText('elements.mjs');
const handle = toNodeHandler(updates);
const server = createServer((request, response) =>
  handle(request, response, () => {
    if (request.url === '/version') return response.end(`${VERSION}\n`);
    const isScript = request.url === '/elements.mjs';
    response.setHeader('Content-Type', isScript ? 'text/javascript' : 'text/html');
    return response.end(isScript ? elements : page);
  }),
);
server.listen(8080, () => console.log(`larder ${VERSION} is listening`));
process.on('SIGTERM', () => updates.close().finally(() => process.exit()));
await updates.start();
