// biome-ignore-all lint/suspicious/noTemplateCurlyInString: compose's own variables
import { stringify } from 'yaml';
import type { Product } from '../../../core/names/product.ts';
import { settingsFileName } from '../../../core/names/state-directory-name.ts';
import type { ComposeModel } from '../../../engine/cli/compose.ts';

/** Name of the service that runs `svc-updater serve`, and of its volume. Products forward requests to this name. */
export const updatesName = 'updates';

/** Variable in the env file, and in the app's environment. */
export const secretVariable = 'UPDATES_SECRET';

export const secretReference = `\${${secretVariable}:?}`;

interface UpdatesServiceFacts {
  product: Product;
  /** Image with its tag, which may contain a variable. */
  image: string;
  app: string;
  workers: readonly string[];
  /** Host path of the engine's socket. */
  socket: string;
  /** Network that the service shares with the app; null for the default network. */
  network: string | null;
}

/** Whether the product's own list of services describes the instance. */
export const hasUsualServices = ({ services }: Product, app: string, workers: readonly string[]): boolean =>
  [app, ...workers, updatesName].join() === services.join();

/** Formats the workers, including the new service, as a setting of `svc-updater serve`. */
export const formatWorkers = (workers: readonly string[]): string =>
  JSON.stringify([...workers, updatesName]);

/** Formats the service as lines of a compose file, without indentation. */
export function formatUpdatesService(facts: UpdatesServiceFacts, indent: number): string[] {
  const { product, image, app, workers, socket, network } = facts;
  const escaped = socket.replaceAll('$', '$$$$');
  const service = {
    image,
    restart: 'unless-stopped',
    labels: { [`${product.labelPrefix}.role`]: 'worker', [`${product.labelPrefix}.data`]: 'none' },
    environment: {
      SVC_SERVE_SECRET: secretReference,
      ...(!hasUsualServices(product, app, workers) && {
        SVC_SERVE_APP: app,
        SVC_SERVE_WORKERS: formatWorkers(workers),
      }),
    },
    volumes: [`${escaped}:/var/run/docker.sock`, `${updatesName}:/store`],
    ...(network !== null && { networks: [network] }),
    read_only: true,
    cap_drop: ['ALL'],
    security_opt: ['no-new-privileges:true'],
    healthcheck: { test: ['CMD', 'wget', '-qO-', 'http://127.0.0.1:8080/healthz'], interval: '2s' },
  };
  return toLines({ [updatesName]: service }, indent);
}

/**
 * Formats all lines that an operator adds manually, in the order of a compose file.
 * @param images - new references of the services whose tags become versions, keyed by service
 */
export function formatLinesToPaste(
  facts: UpdatesServiceFacts,
  images: ReadonlyMap<string, string>,
): string[] {
  const { product, app, workers } = facts;
  const environment = { [secretVariable]: secretReference };
  const own = [app, ...workers].flatMap((name) => {
    const image = images.get(name);
    const lines = { ...(image !== undefined && { image }), ...(name === app && { environment }) };
    return Object.keys(lines).length > 0 ? toLines({ [name]: lines }, 2) : [];
  });
  const services = [...own, ...formatUpdatesService(facts, 2)].map((line) => `  ${line}`);
  return [
    'lines for the compose file:',
    ...['services:', ...services, 'volumes:', `  ${updatesName}:`],
    ...(hasUsualServices(product, app, workers)
      ? []
      : [`line for ${settingsFileName}:`, `services: [${[app, ...workers, updatesName].join(', ')}]`]),
  ];
}

const toLines = (value: object, indent: number): string[] =>
  stringify(value, { indent, lineWidth: 0 }).trimEnd().split('\n');

/**
 * Returns the network that the new service joins: null for the default network, undefined if there is none. A network
 * that other projects use is not chosen, because they may have a service with the same name. A network with access to
 * the internet is preferred, because the service reads the releases there.
 */
export function chooseNetwork({ services, networks }: ComposeModel, app: string): string | null | undefined {
  const service = services[app];
  if (service?.network_mode !== undefined) return undefined;
  const names = Object.keys(service?.networks ?? { default: null });
  const own = names.filter((name) => networks?.[name]?.external !== true);
  if (own.includes('default')) return null;
  return own.find((name) => networks?.[name]?.internal !== true) ?? own[0];
}
