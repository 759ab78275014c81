/** The variable parts of the test instance's compose file; each reference is the text in the file. */
export interface ComposeText {
  /** The lines above `services:`. */
  head?: string;
  /** Image of the app, and of the worker; null for no worker. */
  app: string;
  worker?: string | null;
  /** The prefix of `/db:1`, `/proxy:1` and `/tunnel:1`. */
  parts: string;
  /** Port on the host's loopback; null for none. */
  port?: string | null;
  /** Additional services by name, with the role for the entry script. */
  service?: Record<string, string>;
  /** Additional lines of a service's definition. */
  extra?: Record<string, string>;
  /** Additional mounts of the app, and additional environment variables of it. */
  volumes?: readonly string[];
  environment?: Readonly<Record<string, string>>;
  /** Additional environment variables of the worker. */
  workerEnvironment?: Readonly<Record<string, string>>;
  /** The definition of the network, if it is not the default network. */
  network?: string;
  /** Lines at the end of the file. */
  tail?: string;
}

export function composeText(text: ComposeText): string {
  const restart = 'restart: always';
  const services = new Map<string, string>();
  services.set(
    'app',
    `image: ${text.app}
command: app
${restart}
depends_on: [db]
${published(text.port)}volumes: [${['./data:/data', ...(text.volumes ?? [])].map((volume) => `'${volume}'`).join(', ')}]
networks: [internal]
environment:
  DB_PASSWORD: \${DB_PASSWORD:?}
  SVC_HOST: \${SVC_HOST:-localhost}
${variables(text.environment)}${health('/bin/wget, -qO-, "http://127.0.0.1:8080/version"')}`,
  );
  if (text.worker !== null) {
    services.set(
      'worker',
      `image: ${text.worker ?? text.app}
command: worker
${restart}
volumes: ['./data:/data']
networks: [internal]
environment:
  DB_PASSWORD: \${DB_PASSWORD:?}
${variables(text.workerEnvironment)}${health('/bin/test, -e, /tmp/alive')}`,
    );
  }
  services.set(
    'db',
    `image: ${text.parts}/db:1
command: db
${restart}
volumes: ['db:/var/lib/db', './data/dump:/dump']
networks: [internal]`,
  );
  for (const name of ['proxy', 'tunnel']) services.set(name, part(name, name, text.parts, restart));
  for (const [name, role] of Object.entries(text.service ?? {})) {
    services.set(name, part('tunnel', role, text.parts, restart));
  }
  for (const [name, lines] of Object.entries(text.extra ?? {})) {
    services.set(name, `${services.get(name) ?? ''}\n${lines}`.trim());
  }
  return `${text.head ?? ''}services:
${[...services].map(([name, lines]) => `  ${name}:\n${indent(lines, 4)}`).join('\n')}
volumes:
  db:
networks:
  internal:${text.network === undefined ? '' : ` { ${text.network} }`}
${text.tail ?? ''}`;
}

const marker = '# svc:generated\n';
const fromEnv = { app: `\${SVC_IMAGE:?}:\${SVC_VERSION:-latest}`, parts: `\${SVC_PARTS:?}` };

/** The `compose.yaml` in a release; values of an install come from `.env`. */
export function generatedCompose(release: string, changes: Partial<ComposeText> = {}): string {
  return composeText({
    head: `${marker}# Shipped with svc ${release}. Every update overwrites this file: settings go to .env or svc.yaml.\n`,
    ...fromEnv,
    ...changes,
  });
}

/** The `compose.cluster.yaml` in a release; it is complete, so that it works over `compose.yaml` and alone. */
export function clusterCompose(release: string, changes: Partial<ComposeText> = {}): string {
  return composeText({
    head: `${marker}# Shipped with svc ${release}, for cluster mode. Every update overwrites this file.\n`,
    ...fromEnv,
    extra: { app: 'labels: { svc.mode: cluster }', worker: 'labels: { svc.mode: cluster }' },
    ...changes,
  });
}

function part(image: string, role: string, parts: string, restart: string): string {
  return `image: ${parts}/${image}:1\ncommand: ${role}\n${restart}\nnetworks: [internal]`;
}

const published = (port: string | null = `\${SVC_PORT:?}`) =>
  port === null ? '' : `ports: ['127.0.0.1:${port}:8080']\n`;

function variables(environment: ComposeText['environment'] = {}): string {
  return Object.entries(environment)
    .map(([key, value]) => `  ${key}: ${value}\n`)
    .join('');
}

/** Interval and start period of the health check are in the image. */
function health(command: string): string {
  return `healthcheck:
  test: [CMD, ${command}]
  timeout: 3s
  retries: 3`;
}

function indent(lines: string, by: number): string {
  return lines.replace(/^(?=.)/gm, ' '.repeat(by));
}
