import { readFile } from 'node:fs/promises';
import { assemble, baseLayer, type Image, layer } from '../rig/image.ts';
import { push } from '../rig/registry.ts';
import type { Place } from './compose-file.ts';
import { isReleased, type Product, type ReleaseName, type Service, tagsOf } from './product.ts';

// Stand-ins for the images of a product: the same repositories and tags in a registry of the tests, with a small web
// server that returns its version.

/** Pushes a release to the registry under all its tags; shared tags then point to this release. */
export async function publishRelease(product: Product, name: ReleaseName, place: Place): Promise<void> {
  const release = product.releases[name];
  await Promise.all(
    repositoriesOf(product).map(async ([repository, service]) => {
      const image = await standIn(`${place.name}/${repository}`, release.tag, {
        label: labelOf(product, release.tag),
        health: service.imageHealth ?? false,
        crashes: name === 'crashing',
      });
      await pushAll(place, repository, tagsOf(release), image);
    }),
  );
}

/** Pushes images that no release updates, such as databases and caches. Returns the digests by `repository:tag`. */
export async function publishOthers(product: Product, place: Place): Promise<Record<string, string>> {
  const found = await Promise.all(
    servicesOf(product)
      .filter((service) => service.tag !== undefined && !isReleased(service))
      .map(async ({ repository = '', tag = 'latest' }): Promise<[string, string][]> => {
        const options = { label: null, health: false, crashes: false };
        const image = await standIn(`${place.name}/${repository}`, tag, options);
        return [[`${repository}:${tag}`, await pushAll(place, repository, [tag], image)]];
      }),
  );
  return Object.fromEntries(found.flat());
}

/** The repositories of a release, each with one of its services. */
const repositoriesOf = (product: Product): [string, Service][] => [
  ...new Map(
    servicesOf(product).flatMap((service): [string, Service][] =>
      service.repository !== undefined && isReleased(service) ? [[service.repository, service]] : [],
    ),
  ),
];

const servicesOf = ({ services, shared = {} }: Product): Service[] => [
  ...Object.values(services),
  ...Object.values(shared),
];

async function pushAll(
  { registry, name }: Place,
  repository: string,
  tags: readonly string[],
  image: Image,
): Promise<string> {
  const host = registry.split('/', 1)[0] ?? '';
  let digest = '';
  // One at a time: the registry does not write a manifest atomically.
  for (const tag of tags) digest = await push(host, `${name}/${repository}`, tag, image);
  return digest;
}

function labelOf({ label }: Product, tag: string): string | null {
  if (label === 'none') return null;
  return label === 'tag' ? tag : tag.replace(/^v/, '').replace(/-[a-z].*$/, '');
}

interface StandIn {
  /** The label `org.opencontainers.image.version`. */
  label: string | null;
  health: boolean;
  crashes: boolean;
}

/** The same arguments give the same bytes. The repository is in the layer so that no other instance uses the image. */
async function standIn(repository: string, version: string, options: StandIn): Promise<Image> {
  const entry = await readFile(new URL('stand-in.sh', import.meta.url));
  const answersWell = '#!/bin/sh\necho PONG\n';
  const own = layer([
    { name: 'bin/stand-in.sh', kind: 'file', mode: 0o755, content: entry },
    { name: 'cron.sh', kind: 'link', target: '/bin/stand-in.sh' },
    // The programs that published health checks call.
    { name: 'bin/pg_isready', kind: 'file', mode: 0o755, content: answersWell },
    { name: 'bin/redis-cli', kind: 'file', mode: 0o755, content: answersWell },
    { name: 'etc/passwd', kind: 'file', content: 'root:x:0:0:root:/:/bin/sh\n' },
    { name: 'etc/repository', kind: 'file', content: `${repository}\n` },
    { name: 'etc/version', kind: 'file', content: `${version}\n` },
    { name: 'www/version', kind: 'file', content: `${version}\n` },
  ]);
  const second = 1_000_000_000;
  return assemble([await baseLayer(), own], {
    Env: ['PATH=/bin', ...(options.crashes ? ['FAULT=exit'] : [])],
    Entrypoint: ['/bin/stand-in.sh'],
    Labels: options.label === null ? {} : { 'org.opencontainers.image.version': options.label },
    ...(options.health
      ? {
          Healthcheck: {
            Test: ['CMD', '/bin/wget', '-qO-', 'http://127.0.0.1:8080/version'],
            Interval: second,
            StartPeriod: 60 * second,
            StartInterval: second / 5,
          },
        }
      : {}),
  });
}
