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

const kindsOf = <K extends string>(words: Readonly<Record<K, readonly string[]>>) =>
  Object.entries<readonly string[]>(words).flatMap(([kind, all]) =>
    all.map((word) => [word, kind as K] as const),
  );

// A database's data is of one major version, and is moved to the next by the database's own tools.
const databases: ReadonlyMap<string, StoreKind> = new Map(
  kindsOf({
    database: [
      ...['postgres', 'postgresql', 'postgis', 'pgvector', 'pgvecto', 'timescaledb', 'paradedb'],
      ...['mariadb', 'mysql', 'percona', 'mongo', 'mongodb', 'clickhouse', 'cockroach', 'cockroachdb'],
      ...['couchdb', 'influxdb', 'cassandra', 'scylla', 'neo4j', 'arangodb', 'rethinkdb', 'surrealdb'],
      ...['questdb', 'mssql'],
    ],
    cache: ['redis', 'valkey', 'keydb', 'dragonfly', 'memcached'],
  }),
);
/** For restore points alone: an update may replace these. */
const otherStores = kindsOf({
  database: ['openldap', 'etcd', 'zookeeper', 'ferretdb', 'victoriametrics', 'orientdb'],
  queue: [
    ...['rabbitmq', 'nats', 'kafka', 'redpanda', 'activemq', 'artemis', 'pulsar', 'nsq', 'nsqd', 'mosquitto'],
    ...['emqx', 'beanstalkd'],
  ],
  'search index': [
    ...['elasticsearch', 'opensearch', 'meilisearch', 'typesense', 'solr', 'qdrant', 'weaviate', 'milvus'],
    ...['manticore', 'manticoresearch', 'zincsearch', 'chroma', 'chromadb', 'vespa', 'quickwit'],
  ],
});
const stores: ReadonlyMap<string, StoreKind> = new Map([...databases, ...otherStores]);

/** A program that stores data for others. */
export type StoreKind = 'database' | 'queue' | 'search index' | 'cache';
/** Words for programs that serve a database and are none: `postgres-exporter`. */
const helpers = /^(?:exporter|express|backups?|commander|insight|admin|ui|web|gui|proxy|operator|client)$/;

/** By the name of the image. */
export const isDatabase = ({ repository }: Pick<Reference, 'repository'>): boolean =>
  kindOf(repository, databases) !== null;

/** What a container stores, by its image and by the paths where volumes are mounted; null if it looks like no store. */
export function storeOf(image: string, paths: readonly string[]): StoreKind | null {
  const repository = parseReference(image)?.repository ?? '';
  const known = kindOf(repository, stores);
  if (known !== null || isHelper(repository)) return known;
  return storePlaces.find(([, places]) => paths.some((path) => places.test(path)))?.[0] ?? null;
}

const storePlaces: readonly (readonly [StoreKind, RegExp])[] = [
  [
    'database',
    /^\/(?:data\/db|opt\/couchdb|cockroach|var\/opt\/mssql|bitnami\/(?:postgresql|pgsql|mysql|mariadb|mongodb)|var\/lib\/(?:postgresql|pgsql|mysql|mariadb|mongodb|clickhouse|couchdb|influxdb2?|cassandra|scylla|neo4j|ldap))(?:\/|$)/,
  ],
  ['queue', /^\/(?:bitnami\/(?:kafka|rabbitmq)|var\/lib\/(?:rabbitmq|kafka|redpanda))(?:\/|$)/],
  [
    'search index',
    /^\/(?:usr\/share\/(?:elasticsearch|opensearch)\/data|bitnami\/elasticsearch|meili_data|var\/solr|qdrant\/storage|var\/lib\/(?:weaviate|milvus|manticore))(?:\/|$)/,
  ],
  ['cache', /^\/(?:bitnami\/redis|var\/lib\/(?:redis|valkey))(?:\/|$)/],
];

function kindOf(repository: string, known: ReadonlyMap<string, StoreKind>): StoreKind | null {
  const words = wordsOf(repository);
  const at = words.findIndex((word) => known.has(word));
  if (at < 0 || isHelper(repository)) return null;
  // `zabbix-server-mysql` is a server that is built for a database, `mysql-server` is one.
  if (words.slice(0, at).includes('server')) return null;
  // `percona-server-mongodb`: who makes it comes before what it is.
  return known.get(words.findLast((word) => known.has(word)) ?? '') ?? null;
}

/** Whether it serves a database, and is none: `postgres-exporter`. */
const isHelper = (repository: string): boolean => wordsOf(repository).some((word) => helpers.test(word));

const wordsOf = (repository: string): string[] => (repository.split('/').at(-1) ?? '').split(/[-_.]+/);
