import { quoteForShell } from '../../core/errors/advice.ts';
import { isAdminStatus, type NonAdminStatus, type Problem } from '../../wire/api-client/parse-responses.ts';
import type { FailedResult, RequestResult } from '../../wire/api-client/request-result.ts';
import { UpdateApiClient } from '../../wire/api-client/update-api-client.ts';
import type { Status } from '../../wire/status.ts';
import {
  type CommandContext,
  CommandFailedError,
  interruptedExitCode,
} from '../command-line/client-command.ts';
import { getProductNames } from '../command-line/product-names.ts';
import { type ClientConfig, readClientConfig } from './client-config.ts';
import { explainFailedResult } from './explain-failed-result.ts';

/** Context of a command that connects to the server. */
export interface Session extends CommandContext {
  reader: UpdateApiClient;
  config: ClientConfig;
}

/** @throws CommandFailedError if the server address is missing or invalid */
export function createSession(context: CommandContext): Session {
  const config = readClientConfig(context.env);
  const { url, token, insecureFile: openFile } = config;
  if (openFile !== null)
    context.stderr.write(
      `! Other users can read or change ${openFile}, which contains the token. To prevent this, run: chmod 600 ${quoteForShell(openFile)}\n`,
    );
  const headers = {
    'User-Agent': `${getProductNames().name}/${context.version}`,
    ...(token === null ? {} : { Authorization: `Bearer ${token}` }),
  };
  const address = `${url}/api/v1/instance/update`;
  return { ...context, config, reader: new UpdateApiClient({ address, headers: () => headers }) };
}

/** @throws CommandFailedError with exit code 2 if the request failed */
export async function requireResponseValue<T>(
  requested: Promise<RequestResult<T>>,
  session: Session,
): Promise<T> {
  const response = await requested;
  if (response.kind === 'ok') return response.value;
  throw createRequestFailedError(response, session);
}

/** @throws CommandFailedError if the request failed, or if the user is not an admin */
export async function requireAdminStatus(
  requested: Promise<RequestResult<Status | NonAdminStatus>>,
  session: Session,
): Promise<Status> {
  const status = await requireResponseValue(requested, session);
  if (isAdminStatus(status)) return status;
  const { url, tokenSetting } = session.config;
  throw new CommandFailedError(2, `${url} accepts this command only from admins. Check ${tokenSetting}.`);
}

/** Creates the error that explains a failed request, or an error without a message after an interruption. */
export const createRequestFailedError = (
  refused: FailedResult,
  { config, signal }: Pick<Session, 'config' | 'signal'>,
  problem: Problem | null = null,
): CommandFailedError =>
  signal.aborted
    ? createInterruptedError()
    : new CommandFailedError(2, explainFailedResult(refused, config), problem);

/** Creates an error without a message, for a command that was interrupted before it started a run. */
export const createInterruptedError = (): CommandFailedError =>
  new CommandFailedError(interruptedExitCode, '');
