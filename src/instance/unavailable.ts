import { EngineFault } from '../engine/http/fault.ts';
import { HostFailure } from './host/ask-host.ts';
import { Unavailable } from './http/update-service.ts';

/** The host or the engine does not answer: the one who asks may come back. */
export function unavailable(error: unknown): unknown {
  if (!(error instanceof HostFailure) && !(error instanceof EngineFault)) return error;
  return new Unavailable('The server cannot do this right now.', { cause: error });
}
