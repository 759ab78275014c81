/** An image reference, and where its parts begin in its text. */
export interface Reference {
  /** With the registry and its port, without tag and digest. */
  repository: string;
  tag: string | null;
  /** `sha256:…`, without the `@`. */
  digest: string | null;
  /** Where there is no tag, it is where `:tag` would be put in. */
  tagStart: number;
  digestStart: number;
}

// The grammar is distribution's: https://github.com/distribution/reference/blob/main/reference.go
const hostLabel = '[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?';
const host = `(?:${hostLabel}(?:\\.${hostLabel})*|\\[[a-fA-F0-9:]+\\])(?::\\d+)?`;
const pathPart = '[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*';
const repository = `(?:${host}/)?${pathPart}(?:/${pathPart})*`;
const tag = '[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}';
const digest = '[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}';
const form = new RegExp(`^(${repository})(?::(${tag}))?(?:@(${digest}))?$`);

const longestRepository = 255;

/** `[host[:port]/]path[:tag][@digest]`; null where it is none, or is the id of a local image. */
export function parseReference(text: string): Reference | null {
  const [, repository = '', tag = null, digest = null] = form.exec(text) ?? [];
  if (repository === '' || repository.length > longestRepository || /^[a-f0-9]{64}$/.test(repository))
    return null;
  const tagStart = repository.length + (tag === null ? 0 : 1);
  return { repository, tag, digest, tagStart, digestStart: text.length - (digest?.length ?? 0) };
}

export function formatReference({
  repository,
  tag,
  digest,
}: Pick<Reference, 'repository' | 'tag' | 'digest'>): string {
  return `${repository}${tag === null ? '' : `:${tag}`}${digest === null ? '' : `@${digest}`}`;
}

/** Docker Hub, under the names that it has; its own images are those of `library`. */
const hub = /^(?:(?:docker\.io|index\.docker\.io|registry-1\.docker\.io)\/)?(?:library\/(?=[^/]+$))?/;

/** One spelling for a repository: `docker.io/library/redis` is `redis`. */
export const canonicalRepository = (repository: string): string => repository.replace(hub, '');

/**
 * `acme` of `ghcr.io/acme/svc`: the path between the registry and the name, else the registry. Null for an image without
 * either: it is one of Docker's own, and each of those is made by other people.
 */
export function publisherOf(repository: string): string | null {
  const parts = canonicalRepository(repository).split('/').slice(0, -1);
  const [first = ''] = parts;
  const path = /[.:]|^localhost$/.test(first) ? parts.slice(1) : parts;
  return path.join('/') || first || null;
}

/** Whether both images are of one publisher; images of no known publisher are so only within one repository. */
export function isOnePublisher(a: Reference, b: Reference): boolean {
  const publisher = publisherOf(a.repository);
  return isOneRepository(a, b) || (publisher !== null && publisher === publisherOf(b.repository));
}

export const isOneRepository = (a: Reference, b: Reference): boolean =>
  canonicalRepository(a.repository) === canonicalRepository(b.repository);

// A database's data is of one major version, and is moved to the next by the database's own tools.
const databases = new Set([
  ...['postgres', 'postgresql', 'postgis', 'pgvector', 'pgvecto', 'timescaledb', 'cockroach', 'mysql'],
  ...['mariadb', 'percona', 'mongo', 'mongodb', 'redis', 'valkey', 'keydb', 'dragonfly', 'memcached'],
  ...['clickhouse', 'cassandra', 'scylla'],
]);
/** Words for programs that serve a database and are none: `postgres-exporter`. */
const helpers = /^(?:exporter|express|backups?|commander|insight|admin|ui|web|gui|proxy|operator|client)$/;

/** By the name of the image. */
export function isDatabase({ repository }: Pick<Reference, 'repository'>): boolean {
  const words = (repository.split('/').at(-1) ?? '').split(/[-_.]+/);
  const at = words.findIndex((word) => databases.has(word));
  if (at < 0 || words.some((word) => helpers.test(word))) return false;
  // `zabbix-server-mysql` is a server that is built for a database, `mysql-server` is one.
  return !words.slice(0, at).includes('server');
}
