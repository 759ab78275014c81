import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A release on a forge, independent of the API. */
export interface Published {
  tag: string;
  notes?: string;
  publishedAt?: string;
  draft?: boolean;
  prerelease?: boolean;
  /** GitLab's field for a release date in the future. */
  upcoming?: boolean;
  /** Only in a static file. */
  requires?: string;
  /** Size in bytes of the asset list of the release. */
  assets?: number;
  /** Names of the attached files, at `fileAt` of the forge. */
  files?: readonly string[];
}

/** A request to the forge, and its response. */
export interface Seen {
  path: string;
  headers: IncomingMessage['headers'];
  status: number;
  /** Size of the body as sent. */
  bytes: number;
  /** The client closed the connection before the response was complete. */
  dropped: boolean;
}

export type Reply = (request: IncomingMessage, response: ServerResponse) => void;

const date = '2026-11-20T08:30:00Z';

/** Path of a file of a release. */
const fileAt = (tag: string, name: string): string => `/acme/svc/releases/download/${tag}/${name}`;

const attached = (origin: string, tag: string, files: readonly string[] = []) =>
  files.map((name, id) => ({ id, name, size: 7, browser_download_url: origin + fileAt(tag, name) }));

const attachedLinks = (origin: string, tag: string, files: readonly string[] = []) =>
  files.map((name, id) => ({ id, name, url: origin + fileAt(tag, name), link_type: 'other' }));

/** Gitea's entries have the same shape. */
function gitHubEntry(origin: string, release: Published, id: number) {
  const { tag, notes = '', draft = false, prerelease = false, publishedAt = date, assets = 0 } = release;
  return {
    url: `${origin}/repos/acme/svc/releases/${id}`,
    html_url: `${origin}/acme/svc/releases/tag/${tag}`,
    id,
    author: { login: 'robot', id: 7, type: 'User', site_admin: false },
    tag_name: tag,
    target_commitish: 'main',
    name: tag,
    draft,
    prerelease,
    created_at: date,
    published_at: draft ? null : publishedAt,
    assets: [{ name: 'x'.repeat(assets) }, ...attached(origin, tag, release.files)],
    body: notes,
  };
}

/** Parameters and entries of each API; fields that the feed does not read are abridged. */
const apis = {
  gitHub: {
    path: '/repos/acme/svc/releases',
    size: 'per_page',
    most: 100,
    latest: 'latest',
    etag: true,
    entry: gitHubEntry,
  },
  gitea: {
    path: '/api/v1/repos/acme/svc/releases',
    size: 'limit',
    most: 50,
    latest: 'latest',
    etag: false,
    entry: gitHubEntry,
  },
  gitLab: {
    path: '/api/v4/projects/acme%2Fsvc/releases',
    size: 'per_page',
    most: 100,
    latest: 'permalink/latest',
    etag: true,
    entry: (origin: string, { tag, notes, upcoming, publishedAt, assets, files }: Published) => ({
      tag_name: tag,
      description: notes ?? null,
      name: tag,
      created_at: date,
      released_at: publishedAt ?? date,
      author: { id: 7, username: 'robot', state: 'active' },
      commit: { id: 'f8d3d94cbd347e924aa7b715845e439d00e80ca4', title: 'A title' },
      upcoming_release: upcoming ?? false,
      evidences: [],
      assets: {
        count: 0,
        sources: [{ format: 'zip', url: `${origin}/acme/svc/-/archive/${tag}/svc-${tag}.zip` }],
        links: [{ name: 'x'.repeat(assets ?? 0) }, ...attachedLinks(origin, tag, files)],
      },
      _links: { self: `${origin}/acme/svc/-/releases/${tag}` },
    }),
  },
} as const;

export type Api = keyof typeof apis | 'static';
interface Named {
  api: (typeof apis)[keyof typeof apis];
  /** The part of the path after the path of the list. */
  name: string;
}

/** The status lines, headers and bytes of GitHub, Gitea, GitLab and a static file, over one list of releases. */
export async function startForge() {
  let published: readonly Published[] = [];
  let most: number | null = null;
  let rootUrl: string | null = null;
  const seen: Seen[] = [];
  const replies: Reply[] = [];

  const files = new Map<string, Reply>();
  const server = createServer((request, response) => {
    const entry: Seen = {
      path: request.url ?? '',
      headers: request.headers,
      status: 0,
      bytes: 0,
      dropped: false,
    };
    seen.push(entry);
    count(response, entry);
    const reply = replies.shift() ?? serve;
    response.setHeader('date', new Date().toUTCString());
    reply(request, response);
  });

  function serve(request: IncomingMessage, response: ServerResponse): void {
    const url = new URL(request.url ?? '', origin);
    const api = Object.values(apis).find(
      ({ path }) => url.pathname === path || url.pathname.startsWith(`${path}/`),
    );
    if (!api) {
      const file = files.get(url.pathname) ?? json(404, { message: 'Not Found' });
      const other = url.pathname === '/releases.json' ? serveFile : file;
      other(request, response);
      return;
    }
    response.setHeader('content-type', 'application/json; charset=utf-8');
    if (url.pathname !== api.path) {
      const reply = one({ api, name: url.pathname.slice(api.path.length + 1) });
      reply(request, response);
      return;
    }
    // A number that is too large is reduced to the maximum, but the links contain the requested number.
    const asked = Number(url.searchParams.get(api.size) ?? 30);
    const size = Math.min(asked, most ?? api.most);
    const page = Number(url.searchParams.get('page') ?? 1);
    const body = JSON.stringify(
      published.slice((page - 1) * size, page * size).map((release, i) => api.entry(origin, release, i + 1)),
    );
    const last = Math.max(1, Math.ceil(published.length / size));
    const link = (to: number, rel: string) =>
      `<${rootUrl ?? origin}${url.pathname}?page=${to}&${api.size}=${asked}>; rel="${rel}"`;
    const links = [
      ...(page > 1 ? [link(page - 1, 'prev')] : []),
      ...(page < last ? [link(page + 1, 'next'), link(last, 'last')] : []),
      ...(page > 1 ? [link(1, 'first')] : []),
    ];
    if (links.length > 0) response.setHeader('link', links.join(', '));
    if (api === apis.gitLab) response.setHeader('x-next-page', page < last ? String(page + 1) : '');
    conditional(request, response, { body, etag: api.etag });
  }

  /** A release by its tag, or the latest release: the first of the list. */
  function one({ api, name }: Named): Reply {
    const isGitLab = api === apis.gitLab;
    const found = published.find(({ tag, draft, prerelease, upcoming }) => {
      if (isGitLab) return name === api.latest ? upcoming !== true : tag === decodeURIComponent(name);
      return name === api.latest && draft !== true && prerelease !== true;
    });
    if (!found) return json(404, { message: '404 Not Found' });
    // https://docs.gitlab.com/api/releases: the permalink redirects to the release of the tag.
    if (isGitLab && name === api.latest)
      return text(302, '', { location: `${api.path}/${encodeURIComponent(found.tag)}` });
    const body = JSON.stringify(api.entry(origin, found, 1));
    return (request, response) => conditional(request, response, { body, etag: api.etag });
  }

  function serveFile(request: IncomingMessage, response: ServerResponse): void {
    const releases = published.map(({ tag, notes, publishedAt, requires, files }) => ({
      version: tag,
      url: `${origin}/notes/${tag}`,
      notes,
      publishedAt,
      requires,
      // Relative to the file, as on a static file server.
      assets: files?.map((name) => ({ name, url: fileAt(tag, name) })),
    }));
    // A plain file server sends Last-Modified, but no ETag.
    response.setHeader('last-modified', modified);
    response.setHeader('content-type', 'application/json');
    conditional(request, response, { body: JSON.stringify({ releases }), etag: false });
  }

  let modified = 'Fri, 20 Nov 2026 08:30:00 GMT';
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  return {
    origin,
    seen,
    address: (api: Api) => `${origin}${api === 'static' ? '/releases.json' : apis[api].path}`,
    publish(...releases: readonly (Published | string)[]) {
      published = releases.map((release) => (typeof release === 'string' ? { tag: release } : release));
      modified = new Date(Date.parse(modified) + 1000).toUTCString();
    },
    fileAt,
    /** Sets the response for a path. */
    host(path: string, reply: Reply) {
      files.set(path, reply);
    },
    /** Sets the maximum page size, and the address of the forge in links. */
    configure(settings: { most?: number; rootUrl?: string }) {
      most = settings.most ?? null;
      rootUrl = settings.rootUrl ?? null;
    },
    /** Sets the responses to the next requests, in this order. */
    next(...some: readonly Reply[]) {
      replies.push(...some);
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export type Forge = Awaited<ReturnType<typeof startForge>>;

/** A response with a JSON body. */
export const json = (status: number, body: unknown, headers: Record<string, string> = {}): Reply =>
  text(status, JSON.stringify(body), { 'content-type': 'application/json', ...headers });

export const text =
  (status: number, body: string | Uint8Array, headers: Record<string, string> = {}): Reply =>
  (_, response) => {
    response.writeHead(status, headers);
    response.end(body);
  };

/** Never responds. */
export const silence: Reply = () => {};

/** Begins as JSON and never ends. */
export const endless =
  (headers: Record<string, string> = {}, chunk: Uint8Array = Buffer.alloc(16 * 1024, '[')): Reply =>
  (_, response) => {
    response.writeHead(200, { 'content-type': 'application/json', ...headers });
    const more = () => {
      while (!response.destroyed && response.write(chunk));
    };
    response.on('drain', more);
    more();
  };

interface Body {
  body: string;
  etag: boolean;
}

function conditional(request: IncomingMessage, response: ServerResponse, { body, etag: named }: Body): void {
  if (named) response.setHeader('etag', `W/"${createHash('sha256').update(body).digest('hex')}"`);
  const etag = response.getHeader('etag');
  const same =
    etag !== undefined
      ? request.headers['if-none-match'] === etag
      : request.headers['if-modified-since'] !== undefined &&
        request.headers['if-modified-since'] === response.getHeader('last-modified');
  response.statusCode = same ? 304 : 200;
  response.end(same ? undefined : body);
}

function count(response: ServerResponse, entry: Seen): void {
  const write = response.write.bind(response) as (...all: unknown[]) => boolean;
  const end = response.end.bind(response) as (...all: unknown[]) => ServerResponse;
  const add = (chunk: unknown) => {
    if (typeof chunk === 'string' || chunk instanceof Uint8Array) entry.bytes += Buffer.byteLength(chunk);
  };
  response.write = (...all: unknown[]) => {
    add(all[0]);
    return write(...all);
  };
  response.end = (...all: unknown[]) => {
    add(all[0]);
    return end(...all);
  };
  response.on('close', () => {
    entry.status = response.statusCode;
    entry.dropped = !response.writableFinished;
  });
}
