import type { RequestOptions } from 'node:http';

/** What a connection by TLS is made with: texts or bytes in PEM. */
export interface TlsFiles {
  ca?: Buffer | string;
  cert?: Buffer | string;
  key?: Buffer | string;
  /** Whether the engine has to show a certificate of that authority. */
  verify: boolean;
}

/** Where an engine's API is. */
export interface EngineTarget {
  tls: boolean;
  /** What stands before each path, for an engine behind a proxy. */
  prefix: string;
  options: RequestOptions &
    Partial<Record<'ca' | 'cert' | 'key', Buffer | string>> & {
      rejectUnauthorized?: boolean;
    };
}

/** @param host `unix:///…` or `tcp://…`. @throws TypeError for an address of another kind */
export function engineTarget(host: string, tls: TlsFiles | null = null): EngineTarget {
  if (host.startsWith('unix://')) {
    return { tls: false, prefix: '', options: { socketPath: host.slice('unix://'.length) } };
  }
  const url = URL.canParse(host) ? new URL(host) : null;
  if (url?.protocol !== 'tcp:' || url.hostname === '') {
    throw new TypeError(`the engine's address ${hostOnly(host)} has an unsupported scheme`);
  }
  const { verify, ...files } = tls ?? { verify: false };
  return {
    tls: tls !== null,
    prefix: url.pathname.replace(/\/$/, ''),
    options: {
      hostname: url.hostname.replace(/^\[(.*)\]$/, '$1'),
      port: url.port || (tls === null ? 2375 : 2376),
      ...files,
      ...(tls !== null && { rejectUnauthorized: verify }),
    },
  };
}

const hostOnly = (host: string): string => host.replace(/\/\/[^/@]*@/, '//***@');
