// Finds external databases of updated services, because no restore point contains their data. Variables may contain
// passwords, so only hosts and variable names leave this file.

import { isIPv6 } from 'node:net';
import { type Container, serviceOf } from '../../../engine/objects/container.ts';

interface ExternalDatabase {
  host: string;
  service: string;
  variable: string;
}

/**
 * Returns each external database host once, with the alphabetically first of the variables that contain the host.
 * @param services - all services of the project
 * @param containers - containers of the project
 */
export function findExternalDatabases(
  updated: readonly string[],
  services: readonly string[],
  containers: readonly Container[],
): ExternalDatabase[] {
  const isInside = createInsideCheck(services, containers);
  const found = new Map<string, ExternalDatabase>();
  for (const container of containers.filter((each) => updated.includes(serviceOf(each)))) {
    const variables = [...container.env].toSorted(([a], [b]) => (a < b ? -1 : 1));
    for (const [variable, value] of variables) {
      for (const host of databaseHostsOf(variable, value)) {
        if (!found.has(host) && !isInside(host, container))
          found.set(host, { host, service: serviceOf(container), variable });
      }
    }
  }
  return [...found.values()];
}

/** Returns all database hosts in the environment variables of the containers, including hosts inside the project. */
export const listDatabaseHosts = (containers: readonly Container[]): string[] =>
  containers.flatMap(({ env }) => [...env].flatMap(([variable, value]) => databaseHostsOf(variable, value)));

/** Names of databases and brokers in URL schemes such as `jdbc:postgresql:`, `mysql+pymysql:` or `rediss:`. */
const schemes =
  /postgres|pgsql|mysql|mariadb|mongo|redis|valkey|amqp|sqlserver|mssql|oracle|clickhouse|cockroach|cassandra|couchdb|neo4j|nats|kafka|pulsar/i;
const names = /DB|DATABASE|PG|POSTGRES|MYSQL|MARIADB|MONGO|REDIS/;
/** Words that, after HOST in a variable name, show that the value is not a host, as in `DB_HOST_PASSWORD`. */
const otherThings = /PASS|SECRET|TOKEN|KEY|CERT|USER|PORT|SSL|AUTH/;

/** Returns the database hosts in a variable, in lower case and without ports. Takes linear time. */
export function databaseHostsOf(variable: string, value: string): string[] {
  const hasName = isDatabaseHostVariable(variable.toUpperCase());
  const text = value.trim().replace(/^["']/, '').replace(/["']$/, '');
  // Split a list of URLs. The length of the look-ahead is limited to keep the time linear.
  const parts = text.split(/[\s,](?=[a-z][a-z0-9+.:_-]{1,60}@?\/\/)/i);
  const hosts = parts.flatMap((part) => {
    const url = parseDatabaseUrl(part);
    if (url === null) return hasName ? part.split(/[\s,;]/) : [];
    return hasName || schemes.test(url.scheme) ? url.hosts : [];
  });
  return [...new Set(hosts.map(hostOf).filter(isHost))];
}

function isDatabaseHostVariable(variable: string): boolean {
  const at = variable.search(names);
  const host = at < 0 ? -1 : variable.indexOf('HOST', at + 1);
  return host > 0 && !otherThings.test(variable.slice(host));
}

/** Parses a database URL. Returns null if the text is not a URL. The returned hosts may include a port. */
function parseDatabaseUrl(text: string): { scheme: string; hosts: string[] } | null {
  const at = text.indexOf('//');
  const scheme = text.slice(0, Math.max(at, 0));
  if (scheme.length > 61 || !/^[a-z][a-z0-9+.:_-]*:@?$/i.test(scheme)) return null;
  const rest = text.slice(at + 2);
  const end = rest.search(/[/?#;\\]/);
  let authority = end < 0 ? rest : rest.slice(0, end);
  // A password may contain a slash, so the first slash may not end the authority.
  const isPlain = /^(?:[\w.-]*|\[[0-9a-f:.]*\])(?::\d*)?(?:,[\w.-]*(?::\d*)?)*$/i.test(authority);
  if (!authority.includes('@') && !isPlain && rest.includes('@'))
    authority = rest.slice(rest.lastIndexOf('@')).split(/[/?#;\\]/, 1)[0] ?? '';
  const hosts = decodeUriText(authority.slice(authority.lastIndexOf('@') + 1)).replace(/^\w+\(|\)$/g, '');
  const query = rest.slice(Math.max(rest.indexOf('?'), 0)).split(/[?&#]/);
  const named = query.flatMap((each) => /^host(?:addr)?=(.*)$/s.exec(each)?.[1] ?? []);
  return { scheme, hosts: [hosts, ...named.map(decodeUriText)].flatMap((each) => each.split(',')) };
}

function decodeUriText(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function hostOf(text: string): string {
  const bare = /^\[([^\]]*)\]/.exec(text)?.[1] ?? (isIPv6(text) ? text : text.split(':', 1)[0]);
  return (bare ?? '').toLowerCase().replace(/\.$/, '');
}

/** Rejects socket paths, numbers, booleans and patterns. */
const isHost = (text: string): boolean =>
  isIPv6(text) ||
  (/^[\p{L}\p{N}_][\p{L}\p{N}_.-]{0,252}$/u.test(text) &&
    !/^(?:\d{1,5}|true|false|yes|no|on|off)$/.test(text));

const isLoopback = (host: string): boolean =>
  /^(?:localhost|localhost\.localdomain|ip6-localhost|127\.[\d.]+|0\.0\.0\.0|::1?)$/.test(host);

/** Returns a function that checks whether a host name, as the given container resolves it, belongs to the project. */
function createInsideCheck(
  services: readonly string[],
  containers: readonly Container[],
): (host: string, by: Container) => boolean {
  const known = new Set(
    [...services, ...containers.flatMap(({ name, addresses }) => [name, ...addresses])].map((each) =>
      each.toLowerCase(),
    ),
  );
  const networks = new Set(containers.flatMap((each) => each.networks.map((name) => name.toLowerCase())));
  const isKnown = (host: string): boolean => {
    // The engine's DNS server also resolves names such as `db.svc_default`.
    const dots = [...host.matchAll(/\./g)].map(({ index }) => index);
    return (
      known.has(host) || dots.some((at) => networks.has(host.slice(at + 1)) && known.has(host.slice(0, at)))
    );
  };
  return (host, by) => {
    const mapped = by.extraHosts
      .map((line) => splitInLowerCase(line, /[:=]/))
      .find(([name]) => name === host);
    if (mapped) return isKnown(hostOf(mapped[1])) || isLoopback(hostOf(mapped[1]));
    const linked = by.links
      .map((link) => splitInLowerCase(link.replace(/^\//, ''), /:/))
      .find(([, alias]) => alias.split('/').at(-1) === host);
    if (linked) return known.has(linked[0]);
    if (isKnown(host)) return true;
    // In the host network, a loopback address refers to the host. The address is the project's only if another service
    // is reachable on the host.
    const isShared = (each: Container) =>
      serviceOf(each) !== serviceOf(by) && (each.networkMode === 'host' || each.published.length > 0);
    return isLoopback(host) && (by.networkMode !== 'host' || containers.some(isShared));
  };
}

function splitInLowerCase(text: string, at: RegExp): [name: string, rest: string] {
  const index = text.search(at);
  return index < 0
    ? [text.toLowerCase(), '']
    : [text.slice(0, index).toLowerCase(), text.slice(index + 1).toLowerCase()];
}
