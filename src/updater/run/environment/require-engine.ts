import { UpdateError } from '../../../core/errors/update-error.ts';
import type { EngineVersionInfo } from '../../../engine/api-objects.ts';
import type { Engine } from '../../../engine/cli/engine.ts';
import { type EngineError, findEngineError } from '../../../engine/http/engine-error.ts';
import { proxyAdvice } from '../../../engine/proxy-error.ts';
import { readUserMapping } from '../../../engine/self/user-mapping.ts';

/** Advice for each reason why root in this container is not root on the host. */
const adviceFor = {
  remapped:
    'Add --userns=host to the docker run command. This engine maps users (userns-remap), so root in a container does not have permission to use its socket.',
  rootless:
    'Mount the socket of the rootless engine that runs this container: -v $XDG_RUNTIME_DIR/docker.sock:/var/run/docker.sock. For Podman, it is $XDG_RUNTIME_DIR/podman/podman.sock.',
};

/** @throws UpdateError no-socket, socket-denied, engine-version, engine-unavailable */
export async function requireEngine(engine: Engine): Promise<EngineVersionInfo> {
  return engine.getFacts().catch((error) => {
    const cause = findEngineError(error);
    throw cause === null ? error : (explainUnusableEngine(engine.address.host, cause) ?? error);
  });
}

/**
 * Null if the engine's own error is already clear.
 * @param users - reason why root in this container is a different user on the host
 */
export function explainUnusableEngine(
  host: string,
  error: EngineError,
  users = readUserMapping(),
): UpdateError | null {
  const { code, message, cause } = error;
  if (code === 'late' || code === 'unsupported') return null;
  if (code === 'refused-by-proxy' && Number(error.status) < 500)
    return new UpdateError('socket-denied', `${host} rejected the request: ${message}`, {
      advice: proxyAdvice,
    });
  const { code: reason } = Object(cause) as NodeJS.ErrnoException;
  if (reason === 'EACCES' || reason === 'EPERM')
    return new UpdateError(
      'socket-denied',
      `permission denied for the engine socket, ${host}`,
      users === null ? {} : { advice: adviceFor[users] },
    );
  // The engine itself has responded with an error, for example because its authorization plugin is not working.
  if (error.status !== null)
    return new UpdateError('engine-unavailable', `the engine at ${host} rejects requests: ${message}`);
  // The README's command mounts the socket of a rootful engine; this host may have a rootless engine.
  return new UpdateError(
    'no-socket',
    `no engine responds at ${host}: ${message}`,
    users === 'rootless' ? { advice: adviceFor.rootless } : {},
  );
}
