import type { Declared } from './survey-point.ts';
/** TEMPORARY: the lead's stand-in until the real one is merged. */
export function declareData(
  installation: {
    containers: readonly { labels: Readonly<Record<string, string>> }[];
    app: { name: string };
    workers: readonly { name: string }[];
  },
  _options: unknown,
): Declared {
  const said = new Map<string, string>();
  for (const { labels } of installation.containers) {
    const service = labels['com.docker.compose.service'] ?? '';
    const kind = labels['svc.data'];
    if (kind) said.set(service, kind);
  }
  const of = (kind: string) => [...said].filter(([, value]) => value === kind).map(([name]) => name);
  const moved = [installation.app, ...installation.workers].map(({ name }) => name);
  const kept = [
    { kind: 'postgres' as const, services: of('postgres') },
    { kind: 'mariadb' as const, services: of('mariadb') },
    { kind: 'files' as const, services: moved },
  ].filter(({ services }) => services.length > 0);
  return { kept, left: of('none') };
}
