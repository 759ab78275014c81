import type { EngineApi } from '../../engine/engine-api.ts';
import { EngineError, type EngineErrorCode } from '../../engine/http/engine-error.ts';
import type { Reason } from '../../wire/status.ts';
import { manualCommands } from './manual-commands.ts';

/** Where the server lives is no place for an update, or cannot be seen. */
export class HomeNotFound extends Error {
  override readonly name = 'Homeless';
  readonly code: 'not-compose' | 'swarm' | 'no-engine' | 'no-directory';
  /** The same question may have another answer in a moment. */
  readonly mayPass: boolean;
  /** The commands that update the instance by hand, as far as anything is known of it. */
  readonly manual: readonly string[];

  constructor(
    code: HomeNotFound['code'],
    message: string,
    more: { mayPass?: boolean; manual?: readonly string[]; cause?: unknown } = {},
  ) {
    super(message, { cause: more.cause });
    this.code = code;
    this.mayPass = more.mayPass ?? false;
    this.manual = more.manual ?? manualCommands(null);
  }

  get reason(): Reason {
    return { code: this.code, message: this.message };
  }
}

/** A proxy that does not reach its engine says 502, 503 or 504, and that may pass. */
const isDenial = ({ code, status }: EngineError): boolean =>
  status === 403 || (code === 'refused-by-proxy' && Number(status) < 500);

/** There was no response, or no complete one. */
const noResponse: readonly (EngineErrorCode | undefined)[] = [undefined, 'unreachable', 'late', 'too-big'];

/** What it means that the engine does not answer, or not as one. */
export function engineUnreachable({ path }: Pick<EngineApi, 'path'>, cause: unknown): HomeNotFound {
  const fault = cause instanceof EngineError ? cause : null;
  const code = (fault?.cause as NodeJS.ErrnoException | null | undefined)?.code;
  if (code === 'EACCES' || code === 'EPERM') {
    const message = `the server does not have permission to use the engine socket ${path}`;
    return new HomeNotFound('no-engine', message, { cause });
  }
  if (fault !== null && isDenial(fault)) {
    const message = `the proxy at ${path} rejects a request to the engine: ${fault.message}`;
    return new HomeNotFound('no-engine', message, { cause });
  }
  const message = noResponse.includes(fault?.code)
    ? `no engine responds at ${path}`
    : `no usable engine responds at ${path}: ${fault?.message}`;
  return new HomeNotFound('no-engine', message, { mayPass: true, cause });
}
