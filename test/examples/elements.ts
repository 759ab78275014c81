// A page with the elements. Its endpoints are simulated; use createInstanceUpdates() for real ones.
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { toNodeHandler } from 'svc-updater/instance';
import { createScriptedUpdates } from 'svc-updater/testing';

const updates = createScriptedUpdates();
const handle = toNodeHandler(updates);
const elements = await readFile(new URL(import.meta.resolve('svc-updater/web')));
const page = `<!doctype html><html lang="en"><title>svc</title>
<script type="module" src="/elements.mjs"></script>
<svc-update-notice admin version="v1.4.2" settings-url="/"></svc-update-notice>
<svc-update-channel></svc-update-channel></html>`;
const server = createServer((request, response) =>
  handle(request, response, () => {
    const isScript = request.url === '/elements.mjs';
    response
      .setHeader('Content-Type', isScript ? 'text/javascript' : 'text/html')
      .end(isScript ? elements : page);
  }),
);
server.listen(Number(process.env.PORT ?? '8080'), () => console.log('listening', server.address()));
await updates.start();
