import { hash } from 'node:crypto';

/** A network or a volume as `docker compose config --format json` prints it. */
export type Definition = Readonly<Record<string, unknown>>;

/**
 * What compose 2.31 and later labels a network with when it makes it: SHA-256, hex, of the definition as Go writes it in
 * JSON. Where the label says another hash, `up` takes its containers off the network, to make it anew.
 */
export const networkHash = (definition: Definition): string => hash('sha256', goJson(definition));

/** The same for a volume, since compose 2.32, which takes the driver that is not given for `local`. */
export function volumeHash({ name, driver, ...rest }: Definition): string {
  return networkHash({ ...(name === undefined ? {} : { name }), driver: driver ?? 'local', ...rest });
}

function goJson(value: unknown): string {
  if (typeof value === 'string') return goString(value);
  if (Array.isArray(value)) return `[${value.map(goJson).join(',')}]`;
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  const entries = Object.entries(value);
  // JavaScript moves keys that are numbers to the front. Only maps have such keys, and Go sorts those by their bytes.
  if (entries.some(([key]) => /^\d+$/.test(key))) entries.sort(([a], [b]) => byBytes(a, b));
  return `{${entries.map(([key, item]) => `${goString(key)}:${goJson(item)}`).join(',')}}`;
}

/** `config` prints `$` as `$$`, and Go escapes what HTML could take for its own. */
const goString = (text: string): string =>
  JSON.stringify(text.replaceAll('$$', '$')).replace(
    /[<>&\u2028\u2029]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

const byBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));
