import { existsSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { dirname, isAbsolute } from 'node:path';
import { EngineFault } from '../../engine/http/fault.ts';
import { composeLabels } from '../../engine/labels.ts';
import { ownContainer } from '../../engine/own-container.ts';
import type { ContainerDetails, EngineSocket } from '../../engine/socket.ts';
import { HostPaths, isWithin } from '../../files/host-paths.ts';
import type { Reason } from '../../wire/status.ts';
import type { Settings } from '../contract/options.ts';

/** Where the server lives: its compose project, and the host's paths of what an updater needs. */
export interface Home {
  /** The server's own container. */
  containerId: string;
  project: string;
  /** The compose directory on the host, as compose was started with it. */
  directory: string;
  /** The server's own service: the app. */
  service: string;
  /** The engine's socket on the host. */
  socket: string;
  /** The compose directory and those of files that lie elsewhere; none is within another. */
  directories: readonly string[];
  /** The file with logins of registries on the host; null where the server has none. */
  credentials: string | null;
  /** What the server's container was created from, and the image that came to. */
  imageReference: string;
  imageId: string;
  /** ISO 8601. */
  startedAt: string;
}

/** There is no home, or none that can be seen. */
export class HomeNotFound extends Error {
  override readonly name = 'Homeless';
  readonly code: 'not-compose' | 'no-engine';
  /** It may be another answer in a moment. */
  readonly mayPass: boolean;

  constructor(
    code: HomeNotFound['code'],
    message: string,
    { mayPass = false, cause }: { mayPass?: boolean; cause?: unknown } = {},
  ) {
    super(message, { cause });
    this.code = code;
    this.mayPass = mayPass;
  }

  get reason(): Reason {
    return { code: this.code, message: this.message };
  }
}

const noCompose = 'the server does not run as a compose service';

/** @throws Homeless */
export async function findHome(engine: EngineSocket, settings: Settings): Promise<Home> {
  const { id, name } = await ownContainer();
  if (!existsSync(engine.path)) {
    throw id !== null || existsSync('/.dockerenv')
      ? new HomeNotFound('no-engine', `the engine's socket is not mounted at ${engine.path}`)
      : new HomeNotFound('not-compose', noCompose);
  }
  const own = await engine.inspect(name).catch((error) => {
    throw unreachable(engine, error);
  });
  if (own === null) {
    throw id === null
      ? new HomeNotFound('not-compose', noCompose)
      : new HomeNotFound('no-engine', `the engine at ${engine.path} is not the one that runs the server`);
  }
  return readHome(own, settings, await realpath(engine.path).catch(() => engine.path));
}

/** What the server's own container tells. @throws Homeless */
export function readHome(own: ContainerDetails, settings: Settings, realSocket: string): Home {
  const [project, directory, service] = [
    composeLabels.project,
    composeLabels.directory,
    composeLabels.service,
  ].map((label) => own.labels[label] ?? '');
  if (!project || !directory || !service) throw new HomeNotFound('not-compose', noCompose);
  const paths = new HostPaths(own.mounts);
  const socket = paths.toHost(settings.socketPath) ?? paths.toHost(realSocket);
  if (socket === null) {
    throw new HomeNotFound('no-engine', `${settings.socketPath} is not mounted from the host`);
  }
  const listed = [composeLabels.files, composeLabels.envFiles].flatMap((label) =>
    (own.labels[label] ?? '').split(',').filter(isAbsolute).map(dirname),
  );
  const { registryCredentials } = settings;
  return {
    containerId: own.id,
    project,
    directory,
    service,
    socket,
    directories: outermost([directory, ...listed, ...settings.directories]),
    credentials: registryCredentials === null ? null : paths.toHost(registryCredentials),
    imageReference: own.imageReference,
    imageId: own.imageId,
    startedAt: own.startedAt,
  };
}

function outermost(directories: readonly string[]): string[] {
  const unique = [...new Set(directories)];
  return unique.filter((one) => !unique.some((other) => other !== one && isWithin(one, other)));
}

/** What it means that the engine does not answer. */
export function unreachable(engine: EngineSocket, error: unknown): HomeNotFound {
  const code = error instanceof EngineFault ? (error.cause as NodeJS.ErrnoException | null)?.code : undefined;
  if (code === 'EACCES' || code === 'EPERM') {
    return new HomeNotFound('no-engine', `the server may not use the engine's socket ${engine.path}`, {
      cause: error,
    });
  }
  return new HomeNotFound('no-engine', `no engine answers at ${engine.path}`, {
    mayPass: true,
    cause: error,
  });
}
