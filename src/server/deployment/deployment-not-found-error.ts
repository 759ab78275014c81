import type { EngineApi } from '../../engine/engine-api.ts';
import { EngineError, type EngineErrorCode } from '../../engine/http/engine-error.ts';
import type { Reason } from '../../wire/status.ts';
import type { KnownDeployment } from './manual-commands.ts';

/** The deployment of the server does not support updates or cannot be inspected. */
export class DeploymentNotFoundError extends Error {
  override readonly name = 'DeploymentNotFoundError';
  readonly code: 'not-compose' | 'swarm' | 'no-engine' | 'no-directory';
  /** Whether the error may be temporary. */
  readonly mayPass: boolean;
  /** For the commands of a manual update; null if no known command can update the instance. */
  readonly known: KnownDeployment | null;

  constructor(
    code: DeploymentNotFoundError['code'],
    message: string,
    more: { mayPass?: boolean; known?: KnownDeployment; cause?: unknown } = {},
  ) {
    super(message, { cause: more.cause });
    this.code = code;
    this.mayPass = more.mayPass ?? false;
    this.known = code === 'not-compose' ? null : (more.known ?? {});
  }

  get reason(): Reason {
    return { code: this.code, message: this.message };
  }
}

/**
 * Whether a proxy rejected the request. Statuses 502 to 504 are not rejections: the proxy cannot reach the engine,
 * which may be temporary.
 */
const isDenial = ({ code, status }: EngineError): boolean =>
  status === 403 || (code === 'refused-by-proxy' && Number(status) < 500);

/** Codes of engine errors without a complete response; undefined stands for an error of another class. */
const noResponse: readonly (EngineErrorCode | undefined)[] = [undefined, 'unreachable', 'late', 'too-big'];

/** Creates an error that names the cause: missing permission, a rejection by a proxy, or no usable response. */
export function createEngineUnreachableError(
  { path }: Pick<EngineApi, 'path'>,
  cause: unknown,
): DeploymentNotFoundError {
  const fault = cause instanceof EngineError ? cause : null;
  const code = (fault?.cause as NodeJS.ErrnoException | null | undefined)?.code;
  if (code === 'EACCES' || code === 'EPERM') {
    const message = `the server does not have permission to use the engine socket ${path}`;
    return new DeploymentNotFoundError('no-engine', message, { cause });
  }
  if (fault !== null && isDenial(fault)) {
    const message = `the proxy at ${path} rejects a request to the engine: ${fault.message}`;
    return new DeploymentNotFoundError('no-engine', message, { cause });
  }
  const message = noResponse.includes(fault?.code)
    ? `no engine responds at ${path}`
    : `no usable engine responds at ${path}: ${fault?.message}`;
  return new DeploymentNotFoundError('no-engine', message, { mayPass: true, cause });
}
