import { shellWord } from '../progress/advice.ts';
import { Reader } from '../wire/reader.ts';
import type { Answer, Refused } from '../wire/reader-answer.ts';
import { isForAdmins, type Problem, type UserStatus } from '../wire/reader-shapes.ts';
import type { Status } from '../wire/status.ts';
import { type Context, Failure, stoppedCode } from './command.ts';
import { type Config, readConfig } from './config.ts';
import { explain } from './explain.ts';
import { names } from './names.ts';

/** The server that the user means. */
export interface Connection {
  reader: Reader;
  config: Config;
}

/** @throws Failure where it is not known where svc is */
export function connect({ env, version, ...context }: Context): Connection {
  const config = readConfig(env);
  if (config.openFile !== null)
    context.stderr.write(
      `! Others may read or change ${config.openFile}, which has the token: chmod 600 ${shellWord(config.openFile)}\n`,
    );
  const headers = {
    'User-Agent': `${names().name}/${version}`,
    ...(config.token === null ? {} : { Authorization: `Bearer ${config.token}` }),
  };
  const address = `${config.url}/api/v1/instance/update`;
  return { config, reader: new Reader({ address, headers, fetch: context.fetch }) };
}

/** An answer that has to be a proper one. @throws Failure with exit code 2 where it is none */
export async function proper<T>(
  asked: Promise<Answer<T>>,
  { config }: Connection,
  { signal }: Context,
): Promise<T> {
  const answer = await asked;
  if (answer.kind === 'ok') return answer.value;
  throw signal.aborted ? interrupted() : improper(answer, config);
}

/** @throws Failure for whoever is no admin, too */
export async function statusForAdmins(
  asked: Promise<Answer<Status | UserStatus>>,
  connection: Connection,
  context: Context,
): Promise<Status> {
  const status = await proper(asked, connection, context);
  if (isForAdmins(status)) return status;
  const { url, tokenSetting } = connection.config;
  throw new Failure(2, `${url} allows this to admins only. See ${tokenSetting}.`);
}

export const improper = (refused: Refused, config: Config, problem: Problem | null = null): Failure =>
  new Failure(2, explain(refused, config), problem);

/** It was stopped where nothing had been begun. */
export const interrupted = (): Failure => new Failure(stoppedCode, '');
