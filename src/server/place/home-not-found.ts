import { EngineFault } from '../../engine/http/fault.ts';
import type { EngineSocket } from '../../engine/socket.ts';
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
const isDenial = ({ status, isForeign }: EngineFault): boolean =>
  status === 403 || (isForeign && status !== null && status < 500);

/** What it means that the engine does not answer, or not as one. */
export function engineUnreachable({ path }: Pick<EngineSocket, 'path'>, cause: unknown): HomeNotFound {
  const fault = cause instanceof EngineFault ? cause : null;
  const code = (fault?.cause as NodeJS.ErrnoException | null | undefined)?.code;
  if (code === 'EACCES' || code === 'EPERM')
    return new HomeNotFound(
      'no-engine',
      `the server does not have permission to use the engine socket ${path}`,
      {
        cause,
      },
    );
  if (fault?.kind === 'refused' && isDenial(fault)) {
    const message = `the proxy at ${path} rejects a request to the engine: ${fault.message}`;
    return new HomeNotFound('no-engine', message, { cause });
  }
  const message =
    fault?.isForeign || fault?.kind === 'refused'
      ? `no usable engine responds at ${path}: ${fault.message}`
      : `no engine responds at ${path}`;
  return new HomeNotFound('no-engine', message, { mayPass: true, cause });
}
