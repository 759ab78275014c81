import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';

/** A package as npm publishes and requests it. */
interface Published {
  name: string;
  'dist-tags': Record<string, string>;
  versions: Record<string, { dist: { tarball: string; integrity: string } }>;
  _attachments?: Record<string, { data: string }>;
}

/** An npm registry on loopback that serves only the packages published to it. */
export async function startRegistry() {
  const packages = new Map<string, Published>();
  const archives = new Map<string, Buffer>();

  const publish = async (request: IncomingMessage) => {
    const { _attachments = {}, ...rest } = (await json(request)) as Published;
    for (const { dist } of Object.values(rest.versions)) {
      // A path only: npm replaces the address of a registry that it knows.
      const path = `/-/${archives.size}.tgz`;
      const [attached] = Object.values(_attachments);
      archives.set(path, Buffer.from(attached?.data ?? '', 'base64'));
      dist.tarball = `${address}${path}`;
    }
    packages.set(rest.name, rest);
  };

  const server = createServer(async (request, response) => {
    const path = decodeURIComponent(request.url ?? '');
    if (request.method === 'PUT') await publish(request);
    const found = archives.get(path) ?? JSON.stringify(packages.get(path.slice(1)));
    response.statusCode = request.method === 'PUT' ? 201 : found === undefined ? 404 : 200;
    response.end(found ?? '{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const address = `http://127.0.0.1:${port}`;
  return { address, packages, close: () => server.close() };
}
