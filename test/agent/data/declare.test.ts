import { describe, expect, it } from 'vitest';
import { type DataFacts, declareData, judgeData, proposalLine } from '../../../src/agent/data/declare.ts';
import type { ModelService } from '../../../src/engine/cli/compose.ts';
import type { Mount } from '../../../src/engine/container.ts';
import { productOf, svc } from '../../../src/progress/product.ts';
import { UpdateError } from '../../../src/progress/update-error.ts';
import { container } from '../../build.ts';

/** `image data:/var/lib/x ./a:/b:ro [postgres]`: the image, mounts, and what the label says. */
function service(text: string): ModelService {
  const [image = '', ...words] = text.split(' ');
  const label = words.find((word) => word.startsWith('['))?.slice(1, -1);
  return {
    image,
    labels: label === undefined ? {} : { 'svc.data': label },
    volumes: words
      .filter((word) => !word.startsWith('['))
      .map((word) => {
        const [source = '', target = '', mode] = word.split(':');
        return { type: source.startsWith('/') ? 'bind' : 'volume', source, target, read_only: mode === 'ro' };
      }),
  };
}

/** Of a project whose app is moved. */
const facts = (services: Record<string, string>, changes: Partial<DataFacts> = {}): DataFacts => ({
  model: {
    name: 'svc',
    services: Object.fromEntries(Object.entries(services).map(([name, text]) => [name, service(text)])),
  },
  containers: [],
  moved: ['app', 'worker'],
  said: [],
  product: svc,
  ...changes,
});
const said = (line: number, name: string, word: DataFacts['said'][0]['word']): DataFacts['said'][0] => ({
  service: name,
  word,
  where: `.svc-updater.yaml line ${line}: data of ${name}`,
});
const mount = (source: string, destination: string): Mount => ({
  type: 'volume',
  source,
  destination,
  writable: true,
});

/** In one line: `files app; none redis; db? postgres`. */
function judged(given: DataFacts): string {
  const { kept, left, undecided, mistakes } = judgeData(given);
  return [
    ...kept.map(({ kind, services }) => `${kind} ${services.join(' ')}`),
    ...(left.length > 0 ? [`none ${left.join(' ')}`] : []),
    ...undecided.map(({ service: name, proposal }) => `${name}? ${proposal}`),
    ...mistakes.map((mistake) => `! ${mistake}`),
  ].join('; ');
}

describe('what a restore point keeps', () => {
  it.each<[string, Record<string, string>, string]>([
    ['what the moved have mounted', { app: 'a:1 d:/data', worker: 'a:1 d:/data' }, 'files app worker'],
    ['not what is mounted read-only', { app: 'a:1 /srv/conf:/etc/a:ro' }, ''],
    ['not the machine', { app: 'a:1 /var/run/docker.sock:/s /etc/localtime:/etc/localtime /dev/dri:/d' }, ''],
    ['what is in a directory of the host', { app: 'a:1 /run/media/disk:/data' }, 'files app'],
    ['not what is said to be none', { app: 'a:1 d:/data [none]' }, 'none app'],
    ['a labelled database', { app: 'a:1', db: 'postgres:16 d:/p [postgres]' }, 'postgres db'],
    [
      'both kinds',
      { db: 'x:1 [mariadb]', pg: 'x:1 [postgres]', p2: 'x:1 [postgres]' },
      'postgres pg p2; mariadb db',
    ],
    ['no cache', { app: 'a:1 d:/data', redis: 'redis:7' }, 'files app; none redis'],
    [
      'no queue, no search',
      { mq: 'rabbitmq:4 q:/var/lib/rabbitmq', s: 'getmeili/meilisearch:v1 m:/m' },
      'none mq s',
    ],
    ['not what has no data', { proxy: 'nginx:1 /srv/nginx.conf:/etc/nginx/nginx.conf:ro' }, ''],
  ])('%s', (_, services, expected) => {
    expect(judged(facts(services))).toBe(expected);
  });

  it.each([
    ['postgres:16', 'postgres'],
    ['ghcr.io/immich-app/postgres:14-vectorchord0.4.3', 'postgres'],
    ['timescale/timescaledb-ha:pg16', 'postgres'],
    ['pgvector/pgvector:pg17', 'postgres'],
    ['postgis/postgis:16-3.4', 'postgres'],
    ['percona/percona-server:8', 'mariadb'],
    ['mysql:8', 'mariadb'],
    ['lscr.io/linuxserver/mariadb:latest d:/config', 'mariadb'],
    ['percona/percona-server-mongodb:7', 'none'],
    ['clickhouse/clickhouse-server:24', 'none'],
    ['mongo:7', 'none'],
    ['couchdb:3', 'none'],
    ['influxdb:2', 'none'],
    ['cockroachdb/cockroach:v24.1.0', 'none'],
    ['r.example/own/db:1 d:/var/lib/postgresql/data', 'postgres'],
    ['r.example/own/db:1 d:/var/lib/postgresql', 'postgres'],
    ['bitnami/x:1 d:/bitnami/mariadb', 'mariadb'],
    ['r.example/own/db:1 d:/var/lib/mysql', 'mariadb'],
    ['r.example/own/db:1 d:/data/db', 'none'],
  ])('is to be said of %s', (text, proposal) => {
    expect(judged(facts({ db: text }))).toBe(`db? ${proposal}`);
  });

  it.each([
    ['postgres-exporter:1 d:/var/lib/postgresql', 'none x'],
    ['own/backup:1 d:/var/lib/postgresql:ro', ''],
    ['zabbix/zabbix-server-mysql:7', ''],
    ['dpage/pgadmin4:8 d:/var/lib/pgadmin', 'none x'],
    ['minio/minio:RELEASE.2025 d:/data', 'none x'],
  ])('need not be said of %s', (text, expected) => {
    expect(judged(facts({ x: text }))).toBe(expected);
  });

  it('is said by the file before the label, and by the label before the record', () => {
    const product = productOf({
      name: 'svc',
      data: { a: 'mariadb', b: 'mariadb', c: 'mariadb', gone: 'none' },
    });
    const services = { a: 'x:1 [postgres]', b: 'x:1 [postgres]', c: 'x:1' };
    expect(judged(facts(services, { product, said: [said(2, 'a', 'none')] }))).toBe(
      'postgres b; mariadb c; none a',
    );
  });

  it('goes by what containers have mounted, and leaves out services that have none', () => {
    const services = { app: 'a:1', db: 'postgres:16', other: 'mysql:8' };
    const containers = [
      container('app-1', { mounts: [mount('0f'.repeat(32), '/data')] }),
      container('db-1', { mounts: [] }),
    ];
    expect(judged(facts(services, { containers }))).toBe('files app; db? postgres');
  });

  it.each<[string, Record<string, string>, DataFacts['said'], string]>([
    [
      'a moved database',
      { app: 'a:1 d:/data [postgres]' },
      [],
      'label svc.data of app is postgres, and the update replaces app: it should be files or none',
    ],
    [
      'files that somebody goes on writing',
      { redis: 'redis:7 d:/data' },
      [said(3, 'redis', 'files')],
      '.svc-updater.yaml line 3: data of redis is files, and redis is not stopped by the update: it should be none',
    ],
    [
      'no such service',
      { app: 'a:1' },
      [said(4, 'toString', 'none')],
      '.svc-updater.yaml line 4: data of toString is said, and the project has no such service',
    ],
    [
      'another word',
      { db: 'postgres:16 [pg]' },
      [],
      'label svc.data of db is "pg": it should be postgres, mariadb, files or none',
    ],
  ])('is refused: %s', (_, services, spoken, mistake) => {
    expect(judged(facts(services, { said: spoken }))).toBe(`! ${mistake}`);
    expect(refusal(facts(services, { said: spoken }))).toMatchObject({
      code: 'data-unfit',
      message: mistake,
    });
  });

  it('is refused with the line to write, and written so is no longer', () => {
    const services = { db: 'postgres:16', events: 'clickhouse/clickhouse-server:24', app: 'a:1 d:/data' };
    expect(refusal(facts(services))).toMatchObject({
      code: 'data-unsaid',
      outcome: 'refused',
      message:
        'db (postgres:16) and events (clickhouse/clickhouse-server:24) look like databases, and nothing says what a restore point keeps',
      advice:
        'Write data: {db: postgres, events: none} in .svc-updater.yaml; none is for what may be left out.',
    });
    const spoken = [said(2, 'db', 'postgres'), said(2, 'events', 'none')];
    expect(declareData(facts(services, { said: spoken }))).toEqual({
      kept: [
        { kind: 'postgres', services: ['db'] },
        { kind: 'files', services: ['app'] },
      ],
      left: ['events'],
    });
  });
});

describe('the line of plan', () => {
  it.each<[Record<string, string>, string | null]>([
    [{ app: 'a:1 d:/data', redis: 'redis:7' }, null],
    [{ db: 'postgres:16 [postgres]' }, null],
    [{ db: 'mysql:8' }, 'data: {db: mariadb} in .svc-updater.yaml would let --restore-point keep db'],
    [
      { db: 'postgres:16', log: 'mongo:7' },
      'data: {db: postgres, log: none} in .svc-updater.yaml would let --restore-point keep db, without log',
    ],
    [
      { log: 'mongo:7' },
      'data: {log: none} in .svc-updater.yaml would let --restore-point keep the rest, without log',
    ],
  ])('of %j', (services, line) => {
    expect(proposalLine(judgeData(facts(services)))).toBe(line);
  });
});

function refusal(given: DataFacts): unknown {
  try {
    return declareData(given);
  } catch (error) {
    if (error instanceof UpdateError) return error;
    throw error;
  }
}
