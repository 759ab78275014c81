import type { ContainerSpec } from '../../../src/engine/api-objects.ts';
import type { ContainerDouble } from './container-double.ts';

export interface ServerOptions {
  /** The name of its container and of its door. */
  name?: string;
  labels?: Record<string, string>;
  env?: string[];
  isRunning?: boolean;
  /** A directory mounted in the server for its store. */
  data?: string;
}

/** A server's container, and the socket mounted in it. */
export interface ServerDouble {
  container: ContainerDouble;
  /** For the server's option: at this socket, the server finds this container as its own. */
  socketPath: string;
  /** For `fault`, `down` and `up`. */
  door: string;
}

/** As created by compose. */
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
