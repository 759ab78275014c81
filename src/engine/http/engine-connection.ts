import { readFileSync } from 'node:fs';
import type { RequestOptions } from 'node:http';

/** Connection options for an engine's API. */
export interface EngineConnection {
  tls: boolean;
  /** Prefix of all request paths, for an engine behind a proxy. */
  prefix: string;
  options: RequestOptions & {
    ca?: Buffer | undefined;
    cert?: Buffer | undefined;
    key?: Buffer | undefined;
    rejectUnauthorized?: boolean;
  };
}

/**
 * Parses an engine's address.
 * @param host - `unix:///…` or `tcp://…`
 * @param tls - TLS flags of the docker command with their values: `--tlsverify`, `--tlscacert`, `/certs/ca.pem` …
 * @throws TypeError for any other address
 */
export function parseEngineConnection(host: string, tls: readonly string[] = []): EngineConnection {
  if (host.startsWith('unix://')) {
    return { tls: false, prefix: '', options: { socketPath: host.slice('unix://'.length) } };
  }
  const url = URL.canParse(host) ? new URL(host) : null;
  if (url?.protocol !== 'tcp:' || url.hostname === '') {
    throw new TypeError(
      `the engine's address ${host.replace(/\/\/[^/@]*@/, '//***@')} is not a valid unix:// or tcp:// address`,
    );
  }
  const isSecure = tls.includes('--tlsverify') || tls.includes('--tls');
  return {
    tls: isSecure,
    prefix: url.pathname.replace(/\/$/, ''),
    options: {
      hostname: url.hostname.replace(/^\[(.*)\]$/, '$1'),
      port: url.port || (isSecure ? 2376 : 2375),
      ...(isSecure && tlsOptions(tls)),
    },
  };
}

function tlsOptions(tls: readonly string[]) {
  const file = (flag: string) => {
    const at = tls.indexOf(flag);
    return at < 0 ? undefined : readFileSync(tls[at + 1] ?? '');
  };
  return {
    ca: file('--tlscacert'),
    cert: file('--tlscert'),
    key: file('--tlskey'),
    rejectUnauthorized: tls.includes('--tlsverify'),
  };
}
