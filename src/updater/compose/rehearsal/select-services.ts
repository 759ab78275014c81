import type { ComposeModel } from '../../../engine/cli/compose.ts';

interface ServiceSelectionInput {
  app: string;
  /** Updated services that are left out, because they would run jobs and send mail. */
  workers: readonly string[];
  /** Services whose data is copied. */
  covered: readonly string[];
  /** Services that must complete before the app starts. */
  migrations: readonly string[];
  /** Services that can be started: those that are running, and those that are new in the release. */
  available: ReadonlySet<string>;
  /** Values of variables, keyed by service. */
  values: ReadonlyMap<string, readonly string[]>;
  /** Names by which other services may reach a service, keyed by service. */
  names: ReadonlyMap<string, readonly string[]>;
}

/**
 * Selects the services to rehearse: the app, its migrations, the services with copied data, and all services that these
 * need, directly or indirectly.
 * A service is needed if `depends_on` lists it, or a variable contains one of its names.
 */
export function selectRehearsedServices(model: ComposeModel, input: ServiceSelectionInput): string[] {
  const { app, workers, covered, migrations, available, values, names } = input;
  const canStart = (name: string) =>
    name === app || migrations.includes(name) || (available.has(name) && !workers.includes(name));
  const selected = new Set<string>();
  const visit = (service: string): void => {
    if (selected.has(service) || !Object.hasOwn(model.services, service) || !canStart(service)) return;
    selected.add(service);
    for (const needed of Object.keys(model.services[service]?.depends_on ?? {})) visit(needed);
    const words = new Set((values.get(service) ?? []).flatMap((value) => value.split(/[^\w.-]+/)));
    for (const [name, serviceNames] of names) if (serviceNames.some((each) => words.has(each))) visit(name);
  };
  for (const service of [app, ...migrations]) visit(service);
  // A worker's data that the app does not mount is of no use without the worker.
  for (const service of covered) if (!workers.includes(service)) visit(service);
  return [...selected];
}
