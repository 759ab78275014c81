import type { Product } from './product.ts';

// A product whose tags are no versions: its builds have a number.

const read = '2026-11-23';

/** The database has the app's own publisher. */
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
  releases: {
    old: { tag: 'v25.12.9-ls251', word: 'latest' },
    next: { tag: 'v26.09.1-ls287', word: 'latest' },
    crashing: { tag: 'v26.09.1-ls288', word: 'latest' },
    missing: { tag: 'v26.09.9-ls999' },
  },
  isUntargeted: true,
  forms: [
    { name: 'floating', pin: '{word}' },
    { name: 'no version', pin: '{tag}' },
  ],
};

export const withoutVersions: readonly Product[] = [bookstack];
