import { floating, type Product, releasesOf } from './product.ts';

// Products whose tags are not versions: their builds have a number, or their releases a date.

const read = '2026-11-23';

/** App and database have the same publisher. */
const bookstack: Product = {
  title: 'BookStack by LinuxServer',
  origin: 'https://docs.linuxserver.io/images/docker-bookstack/',
  read,
  file: 'docker-compose.yml',
  services: {
    bookstack: {
      containerName: 'bookstack',
      repository: 'linuxserver/bookstack',
      tag: '§',
      environment: ['PUID=1000', 'PGID=1000', 'DB_HOST=mariadb', 'DB_PORT=3306'],
      mounts: ['./config:/config'],
      needs: ['mariadb'],
    },
    mariadb: {
      containerName: 'mariadb',
      repository: 'linuxserver/mariadb',
      tag: 'latest',
      environment: ['PUID=1000', 'PGID=1000', 'MYSQL_DATABASE=bookstack'],
      mounts: ['./mariadb:/config'],
    },
  },
  moved: ['bookstack'],
  database: 'mariadb',
  label: 'tag',
  releases: releasesOf('v25.12.9-ls251 v26.09.1-ls287 v26.09.1-ls288 v26.09.9-ls999', { word: 'latest' }),
  isUntargeted: true,
  forms: [floating, { name: 'no version', pin: '{tag}' }],
};

const minio: Product = {
  title: 'MinIO',
  origin: 'https://github.com/minio/minio/blob/master/docs/orchestration/docker-compose/docker-compose.yaml',
  read,
  file: 'docker-compose.yaml',
  services: {
    minio1: {
      repository: 'minio/minio',
      tag: '§',
      command: 'server http://minio{1...2}/data{1...2}',
      environment: ['MINIO_ROOT_USER=minio', 'MINIO_ROOT_PASSWORD=minio123'],
      mounts: ['data1-1:/data1'],
    },
    minio2: {
      repository: 'minio/minio',
      tag: '§',
      command: 'server http://minio{1...2}/data{1...2}',
      environment: ['MINIO_ROOT_USER=minio', 'MINIO_ROOT_PASSWORD=minio123'],
      mounts: ['data2-1:/data1'],
    },
  },
  volumes: ['data1-1', 'data2-1'],
  moved: ['minio1', 'minio2'],
  label: 'tag',
  releases: releasesOf(
    'RELEASE.2025-09-07T16-13-09Z RELEASE.2025-10-15T17-29-55Z RELEASE.2025-11-01T00-00-00Z RELEASE.2025-10-31T00-00-00Z',
  ),
  isUntargeted: true,
  forms: [{ name: 'no version', pin: '{tag}' }],
};

export const withoutVersions: readonly Product[] = [bookstack, minio];
