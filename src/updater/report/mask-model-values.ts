/** Visible part of a value in a report: the whole value, an object's keys, or selected keys. */
type Shown = true | 'keys' | { readonly [key: string]: Shown };

const all = (keys: string): Record<string, Shown> =>
  Object.fromEntries(keys.split(' ').map((key) => [key, true]));

const service: Shown = {
  ...all(
    'cap_add cap_drop configs container_name cpus depends_on env_file expose extends group_add hostname',
  ),
  ...all(
    'image init ipc mem_limit network_mode pid platform ports privileged profiles pull_policy read_only',
  ),
  ...all('restart runtime scale secrets security_opt stop_grace_period stop_signal tmpfs ulimits user'),
  ...all('userns_mode volumes volumes_from working_dir'),
  deploy: all('mode replicas resources restart_policy rollback_config update_config'),
  healthcheck: all('disable interval retries start_interval start_period timeout'),
  networks: { '*': all('aliases ipv4_address ipv6_address priority') },
  environment: 'keys',
  labels: 'keys',
  build: { ...all('context dockerfile target'), args: 'keys' },
  logging: { driver: true, options: 'keys' },
};
const named: Shown = { '*': { ...all('name external driver file internal ipam'), driver_opts: 'keys' } };
const project: Shown = { ...all('name'), services: { '*': service }, networks: named, volumes: named };

/** Replaces each value of compose's model with `***`, unless the value is known to be harmless. */
export const maskComposeModelValues = (model: unknown): unknown =>
  shownPart(model, { ...project, configs: named, secrets: named });

function shownPart(value: unknown, shown: Shown | undefined): unknown {
  if (shown === true || value === null) return value;
  if (typeof value !== 'object' || Array.isArray(value) || shown === undefined) return '***';
  const of = (key: string) => (shown === 'keys' ? undefined : (shown[key] ?? shown['*']));
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, shownPart(each, of(key))]));
}
