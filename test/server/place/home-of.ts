import type { Home } from '../../../src/server/place/home.ts';

/** A server's place, of which a test names what it is about. */
export const homeOf = (changes: Partial<Home> = {}): Home => ({
  containerId: 'c'.repeat(64),
  project: 'svc',
  directory: '/opt/svc',
  claim: '/opt/svc\n/opt/svc/compose.yaml\n',
  service: 'app',
  socket: '/run/docker.sock',
  directories: ['/opt/svc', '/etc/svc'],
  credentials: '/root/.docker/config.json',
  imageReference: 'acme/svc:v1.4.2',
  imageId: 'sha256:1',
  imageManifest: null,
  manual: [],
  mounted: [],
  ...changes,
});
