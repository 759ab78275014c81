import type { Deployment } from '../../../src/server/deployment/read-deployment.ts';
import { details } from './container-details.ts';

/** A deployment with defaults for all fields that a test does not set. */
export const homeOf = (changes: Partial<Deployment> = {}): Deployment => ({
  container: details({ Image: 'sha256:1', Config: { Image: 'acme/svc:v1.4.2' } }),
  project: 'svc',
  directory: '/opt/svc',
  claim: '/opt/svc\n/opt/svc/compose.yaml\n',
  service: 'app',
  socket: '/run/docker.sock',
  directories: ['/opt/svc', '/etc/svc'],
  credentials: '/root/.docker/config.json',
  mounted: [],
  ...changes,
});
