import { execFileSync } from 'node:child_process';

/** A key and a self-signed certificate for 127.0.0.1, as PEM. */
export function selfSigned(): { key: string; cert: string } {
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
  const subject = ['-subj', '/CN=engine', '-addext', 'subjectAltName=IP:127.0.0.1'];
  const args = ['req', '-x509', ...curve, ...subject, '-keyout', '-', '-days', '30'];
  const pem = execFileSync('openssl', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
  const part = (name: string) =>
    new RegExp(`-----BEGIN ${name}-----[^]*-----END ${name}-----\n`).exec(pem)?.[0] ?? '';
  return { key: part('PRIVATE KEY'), cert: part('CERTIFICATE') };
}
