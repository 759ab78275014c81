/** A parsed image reference, with the offsets of its tag and digest. */
export interface ImageReference {
  /** Includes the registry and its port, but no tag or digest. */
  repository: string;
  tag: string | null;
  /** Digest `sha256:…` without the `@`. */
  digest: string | null;
  /** Offset of the tag. If there is no tag, the offset at which `:tag` can be inserted. */
  tagStart: number;
  digestStart: number;
}

// Grammar of image references: https://github.com/distribution/reference/blob/main/reference.go
const hostLabel = '[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?';
const host = `(?:${hostLabel}(?:\\.${hostLabel})*|\\[[a-fA-F0-9:]+\\])(?::\\d+)?`;
const pathPart = '[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*';
const repository = `(?:${host}/)?${pathPart}(?:/${pathPart})*`;
const tag = '[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}';
const digest = '[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}';
const form = new RegExp(`^(${repository})(?::(${tag}))?(?:@(${digest}))?$`);

const longestRepository = 255;

/** Parses `[host[:port]/]path[:tag][@digest]`. Returns null for any other text and for the ID of a local image. */
export function parseImageReference(text: string): ImageReference | null {
  const [, repository = '', tag = null, digest = null] = form.exec(text) ?? [];
  if (repository === '' || repository.length > longestRepository || /^[a-f0-9]{64}$/.test(repository))
    return null;
  const tagStart = repository.length + (tag === null ? 0 : 1);
  return { repository, tag, digest, tagStart, digestStart: text.length - (digest?.length ?? 0) };
}

export function formatImageReference({
  repository,
  tag,
  digest,
}: Pick<ImageReference, 'repository' | 'tag' | 'digest'>): string {
  return `${repository}${tag === null ? '' : `:${tag}`}${digest === null ? '' : `@${digest}`}`;
}

/** Prefix of a repository on Docker Hub: the host names, and `library/` for official images. */
const hub = /^(?:(?:docker\.io|index\.docker\.io|registry-1\.docker\.io)\/)?(?:library\/(?=[^/]+$))?/;

/** Returns the short form of a repository: `redis` for `docker.io/library/redis`. */
export const shortRepositoryOf = (repository: string): string => repository.replace(hub, '');

/**
 * Returns `acme` for `ghcr.io/acme/svc`, and the registry for `ghcr.io/svc`. Returns null for official images of Docker
 * Hub, because their publishers differ.
 */
export function publisherOf(repository: string): string | null {
  const parts = shortRepositoryOf(repository).split('/').slice(0, -1);
  const [first = ''] = parts;
  const path = /[.:]|^localhost$/.test(first) ? parts.slice(1) : parts;
  return path.join('/') || first || null;
}

/** If neither publisher is known, the repositories must be equal. */
export function isSamePublisher(a: ImageReference, b: ImageReference): boolean {
  const publisher = publisherOf(a.repository);
  return isSameRepository(a, b) || (publisher !== null && publisher === publisherOf(b.repository));
}

export const isSameRepository = (a: ImageReference, b: ImageReference): boolean =>
  shortRepositoryOf(a.repository) === shortRepositoryOf(b.repository);

const kindsOf = <K extends string>(words: Readonly<Record<K, readonly string[]>>) =>
  Object.entries<readonly string[]>(words).flatMap(([kind, all]) =>
    all.map((word) => [word, kind as K] as const),
  );

// Data stores whose data format depends on the major version. Only the tools of the data store can migrate the data.
const databases: ReadonlyMap<string, DataStoreKind> = new Map(
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
/** Data stores that only matter for restore points. Unlike a database, such a store may be replaced by an update. */
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
const stores: ReadonlyMap<string, DataStoreKind> = new Map([...databases, ...otherStores]);

export type DataStoreKind = 'database' | 'queue' | 'search index' | 'cache';
/** Words in image names that indicate a tool for a database, such as `exporter` in `postgres-exporter`. */
const helpers = /^(?:exporter|express|backups?|commander|insight|admin|ui|web|gui|proxy|operator|client)$/;

/** Checks only the name of the image. */
export const isDatabaseImage = ({ repository }: Pick<ImageReference, 'repository'>): boolean =>
  kindOf(repository, databases) !== null;

/**
 * Infers the kind from the image name and the mount paths of volumes. Returns null if the container does not look like
 * a data store.
 */
export function findDataStoreKind(image: string, paths: readonly string[]): DataStoreKind | null {
  const repository = parseImageReference(image)?.repository ?? '';
  const known = kindOf(repository, stores);
  if (known !== null || isDatabaseTool(repository)) return known;
  return storePlaces.find(([, places]) => paths.some((path) => places.test(path)))?.[0] ?? null;
}

const storePlaces: readonly (readonly [DataStoreKind, RegExp])[] = [
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

function kindOf(repository: string, known: ReadonlyMap<string, DataStoreKind>): DataStoreKind | null {
  const words = wordsOf(repository);
  const at = words.findIndex((word) => known.has(word));
  if (at < 0 || isDatabaseTool(repository)) return null;
  // An image such as `zabbix-server-mysql` only uses the database, but `mysql-server` is the database itself.
  if (words.slice(0, at).includes('server')) return null;
  // Uses the last known word, because a vendor name may precede the database, as in `percona-server-mongodb`.
  return known.get(words.findLast((word) => known.has(word)) ?? '') ?? null;
}

/** A tool for a database, such as `postgres-exporter`, is not a data store. */
const isDatabaseTool = (repository: string): boolean =>
  wordsOf(repository).some((word) => helpers.test(word));

const wordsOf = (repository: string): string[] => (repository.split('/').at(-1) ?? '').split(/[-_.]+/);
