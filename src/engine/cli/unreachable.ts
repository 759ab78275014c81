import { stat } from 'node:fs/promises';
import { UpdateError } from '../../core/progress/update-error.ts';
import { mappedBy } from '../mapped-users.ts';
import { letThrough, proxyRefusal } from '../proxy-refusal.ts';

/** Advice if root in this container is another user on the host. */
const adviceFor = {
  remapped:
    'Add --userns=host to the docker run command. This engine maps users (userns-remap), so root in a container does not have permission to use its socket.',
  rootless:
    'Mount the socket of the rootless engine that runs this container: -v $XDG_RUNTIME_DIR/docker.sock:/var/run/docker.sock. For Podman, it is $XDG_RUNTIME_DIR/podman/podman.sock.',
};

const clientTooNew =
  /client version (?<client>[\d.]+) is too new.*?maximum supported api version is (?<server>[\d.]+)/i;
const clientTooOld = /client version ([\d.]+) is too old.*?minimum supported api version is ([\d.]+)/i;
const engineTooOld =
  /api version (?<server>[\d.]+) is not supported by this client: the minimum supported api version is (?<client>[\d.]+)/i;

/**
 * Why an engine cannot be used, by what the command line printed. Refusals: no-socket, socket-denied, engine-version.
 * @param users why root in this container is another user on the host
 */
export function unreachable(host: string, stderr: string, users = mappedBy()): UpdateError {
  const refused = proxyRefusal(stderr);
  if (refused !== null)
    return new UpdateError('socket-denied', `${host} answers: ${refused}`, { advice: letThrough });
  if (/permission denied/i.test(stderr)) {
    return new UpdateError(
      'socket-denied',
      `permission denied for the engine socket, ${host}`,
      users === null ? {} : { advice: adviceFor[users] },
    );
  }
  const tooNew = clientTooNew.exec(stderr) ?? engineTooOld.exec(stderr);
  if (tooNew) {
    const { client, server } = tooNew.groups ?? {};
    return new UpdateError(
      'engine-version',
      `the engine is too old: it supports API ${server}, but the docker CLI of this image requires ${client}`,
      // The command line asks for the version there, and takes its own for the engine's where it gets no answer.
      host.startsWith('tcp:')
        ? { advice: `If ${host} is a proxy, allow HEAD /_ping. Otherwise, update the engine.` }
        : {},
    );
  }
  const tooOld = clientTooOld.exec(stderr);
  if (tooOld) {
    return new UpdateError(
      'engine-version',
      `the engine is too new: it requires API ${tooOld[2]} or later, but the docker CLI of this image supports ${tooOld[1]}`,
    );
  }
  const reason = lastLine(stderr);
  // An authorization plugin that does not respond, for example.
  if (/^error response from daemon: /i.test(reason))
    return new UpdateError('engine-unavailable', `the engine at ${host} rejects requests: ${reason}`);
  // Who types the command of root's engine on a machine without one has mounted what is no socket.
  return new UpdateError(
    'no-socket',
    `no engine answers at ${host}: ${reason}`,
    users === 'rootless' ? { advice: adviceFor.rootless } : {},
  );
}

export const lastLine = (text: string): string => text.trim().split('\n').at(-1)?.trim() ?? '';

/**
 * Whether the socket has no name any more on the host: one that was mounted as a file leads nowhere once an engine with
 * live-restore has made a new one.
 */
export async function isSocketGone(host: string): Promise<boolean> {
  const found = await stat(host.replace(/^unix:\/\//, '')).catch(() => null);
  return found?.isSocket() === true && found.nlink === 0;
}
