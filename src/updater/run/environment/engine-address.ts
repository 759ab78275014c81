import { join } from 'node:path';

const tlsFlags = { tlscacert: 'ca.pem', tlscert: 'cert.pem', tlskey: 'key.pem' };

/** Converts `DOCKER_HOST` and the TLS variables to CLI flags, because compose must not receive these variables. */
export function parseEngineAddress(env: Readonly<Record<string, string | undefined>>): {
  host: string;
  tls: string[];
} {
  const host = env.DOCKER_HOST || 'unix:///var/run/docker.sock';
  if (!env.DOCKER_TLS_VERIFY || !host.startsWith('tcp:')) return { host, tls: [] };
  const certificates = env.DOCKER_CERT_PATH || '/root/.docker';
  const files = Object.entries(tlsFlags).flatMap(([flag, name]) => [`--${flag}`, join(certificates, name)]);
  return { host, tls: ['--tlsverify', ...files] };
}
