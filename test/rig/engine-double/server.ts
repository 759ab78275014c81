import { join } from 'node:path';
import type { ContainerSpec } from '../../../src/engine/socket.ts';
import type { ContainerDouble } from './container-double.ts';

export interface ServerOptions {
  /** Of its container, and of its door. */
  name?: string;
  project?: string;
  service?: string;
  /** The compose directory on the machine. */
  directory?: string;
  image?: string;
  labels?: Record<string, string>;
  isRunning?: boolean;
}

/** A server's container, and the socket that is mounted in it. */
export interface ServerDouble {
  container: ContainerDouble;
  /** For the server's option: whoever asks there for the container that it lives in is told of this one. */
  socketPath: string;
  /** For `fault`, `down` and `up`. */
  door: string;
}

/** As compose has made it. */
export function serverSpec({
  name = 'svc-app-1',
  project = 'svc',
  service = 'app',
  directory = '/srv/svc',
  image = 'acme/svc:v1.4.2',
  labels = {},
}: ServerOptions): ContainerSpec {
  const compose = 'com.docker.compose';
  return {
    name,
    Image: image,
    Labels: {
      [`${compose}.project`]: project,
      [`${compose}.service`]: service,
      [`${compose}.container-number`]: '1',
      [`${compose}.project.working_dir`]: directory,
      [`${compose}.project.config_files`]: join(directory, 'compose.yaml'),
      ...labels,
    },
    HostConfig: { RestartPolicy: { Name: 'unless-stopped' } },
  };
}
