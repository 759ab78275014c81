import type { ContainerSpec } from '../../../src/engine/api-objects.ts';
import type { ContainerDouble } from './container-double.ts';

export interface ServerOptions {
  /** Of its container, and of its door. */
  name?: string;
  labels?: Record<string, string>;
  env?: string[];
  isRunning?: boolean;
  /** A directory that is mounted in it, for its store. */
  data?: string;
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
  labels = {},
  env = [],
  data,
}: ServerOptions): ContainerSpec {
  const compose = 'com.docker.compose';
  return {
    name,
    Image: 'acme/svc:v1.4.2',
    Env: env,
    Labels: {
      [`${compose}.project`]: 'svc',
      [`${compose}.service`]: 'app',
      [`${compose}.container-number`]: /\d+$/.exec(name)?.[0] ?? '1',
      [`${compose}.oneoff`]: 'False',
      [`${compose}.project.working_dir`]: '/srv/svc',
      [`${compose}.project.config_files`]: '/srv/svc/compose.yaml',
      ...labels,
    },
    HostConfig: {
      RestartPolicy: { Name: 'unless-stopped' },
      ...(data && { Mounts: [{ Type: 'bind', Source: data, Target: data, ReadOnly: false }] }),
    },
  };
}
