import { expect, it } from 'vitest';
import { parseEngineAddress } from '../../../../src/updater/run/environment/engine-address.ts';

const tls = (directory: string) => [
  ...['--tlsverify', '--tlscacert', `${directory}/ca.pem`],
  ...['--tlscert', `${directory}/cert.pem`, '--tlskey', `${directory}/key.pem`],
];
const tcp = 'tcp://engine:2376';
const socket = 'unix:///var/run/docker.sock';

it.each<[string, Record<string, string | undefined>, string, string[]]>([
  ['nothing', {}, socket, []],
  ['an address that is not verified', { DOCKER_HOST: tcp, DOCKER_CERT_PATH: '/certs' }, tcp, []],
  ['an address that is verified', { DOCKER_HOST: tcp, DOCKER_TLS_VERIFY: '1' }, tcp, tls('/root/.docker')],
  [
    'certificates of its own',
    { DOCKER_HOST: tcp, DOCKER_TLS_VERIFY: '1', DOCKER_CERT_PATH: '/certs/client' },
    tcp,
    tls('/certs/client'),
  ],
  [
    'a socket, of which there is nothing to verify',
    { DOCKER_TLS_VERIFY: '1', DOCKER_CERT_PATH: '/certs' },
    socket,
    [],
  ],
])('derives the address and TLS flags from %s', (_, env, host, flags) => {
  expect(parseEngineAddress(env)).toEqual({ host, tls: flags });
});
