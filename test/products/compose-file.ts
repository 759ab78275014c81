import { type Form, ofRelease, type Product, type Release, type Service } from './product.ts';

/** The location of a product's instance: the values of its files that its publisher does not define. */
export interface Place {
  /** Part of the name of everything that the instance creates; also the project's name. */
  name: string;
  /** The prefix of every repository. */
  registry: string;
  port: number;
  /** Digests of the images that no release updates, by `repository:tag`. */
  digests: Readonly<Record<string, string>>;
}

/** The files of the product's directory at a release, in a given form, by name. */
export function filesAt(
  product: Product,
  form: Form,
  release: Release,
  place: Place,
): Record<string, string> {
  const { services, shared = {}, volumes = [], networks = {} } = product;
  const pin = ofRelease(form.pin, release);
  const body = (name: string, service: Service) =>
    linesOf(service, pin, place, name === product.moved[0] ? place.port : null);
  const section = (title: string, entries: readonly string[]) =>
    entries.length === 0 ? [] : [`${title}:`, ...entries.map((entry) => `  ${entry}`)];
  const lines = [
    ...(product.namesProject ? [`name: ${place.name}`] : []),
    ...Object.entries(shared).flatMap(([name, service]) => [
      `x-${name}: &${name}`,
      ...body('', service).map((line) => `  ${line}`),
    ]),
    'services:',
    ...Object.entries(services).flatMap(([name, service]) => [
      `  ${name}:`,
      ...body(name, service).map((line) => `    ${line}`),
    ]),
    ...section(
      'volumes',
      volumes.map((name) => `${name}:`),
    ),
    ...section(
      'networks',
      Object.entries(networks).map(([name, text]) => `${name}: {${text}}`),
    ),
  ];
  const env = { ...product.env, ...form.env };
  return {
    [product.file]: `${lines.join('\n')}\n`,
    ...(Object.keys(env).length === 0 ? {} : { '.env': linesOfEnv(env, release) }),
    ...Object.fromEntries(
      Object.entries(product.envFiles ?? {}).map(([name, values]) => [name, linesOfEnv(values, release)]),
    ),
  };
}

const linesOfEnv = (values: Readonly<Record<string, string>>, release: Release): string =>
  Object.entries(values)
    .map(([key, value]) => `${key}=${ofRelease(value, release)}\n`)
    .join('');

/** The lines of one service that differ from shared definitions. */
function linesOf(service: Service, pin: string, place: Place, port: number | null): string[] {
  const list = (key: string, values: readonly string[] | undefined) =>
    values === undefined || values.length === 0
      ? []
      : [`${key}:`, ...values.map((value) => `  - ${quoted(value)}`)];
  const line = (key: string, value: string | undefined) => (value === undefined ? [] : [`${key}: ${value}`]);
  const image = imageOf(service, pin, place);
  const published = port === null ? [] : [`127.0.0.1:${port}:8080`];
  // On the host's network, the stand-in listens on a free port of the host.
  const environment = [
    ...(service.environment ?? []),
    ...(service.hostNetwork && port !== null ? [`PORT=${port}`] : []),
  ];
  return [
    ...line('<<', service.like && `*${service.like}`),
    ...line('container_name', service.containerName && `${place.name}-${service.containerName}`),
    ...line('image', image ?? undefined),
    ...(service.like === undefined ? ['restart: always'] : []),
    ...line('command', service.command),
    ...line('entrypoint', service.entrypoint),
    ...line('user', service.user && quoted(service.user)),
    ...line('network_mode', service.hostNetwork ? 'host' : undefined),
    ...list('ports', service.hostNetwork ? [] : published),
    ...list('volumes', service.mounts),
    ...list('environment', environment),
    ...line('env_file', service.envFile),
    ...list('networks', service.networks),
    ...list('depends_on', service.needs),
    ...(service.needsHealthy === undefined
      ? []
      : ['depends_on:', ...service.needsHealthy.map((name) => `  ${name}: { condition: service_healthy }`)]),
    ...(service.health === undefined
      ? []
      : ['healthcheck:', `  test: [CMD-SHELL, ${quoted(service.health)}]`, '  interval: 1s', '  retries: 3']),
    ...(service.keepsHealth ? ['healthcheck:', '  disable: false'] : []),
  ];
}

function imageOf(
  { repository, written = '@', tag, digest }: Service,
  pin: string,
  place: Place,
): string | null {
  if (repository === undefined) return null;
  const name = written.replace('@', () => `${place.registry}/${repository}`).replace('§', () => pin);
  if (tag === undefined) return name;
  const behind = tag.replace('§', () => pin);
  if (behind === '') return name;
  const found = place.digests[`${repository}:${behind}`];
  return `${name}:${behind}${digest && found !== undefined ? `@${found}` : ''}`;
}

const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`;
