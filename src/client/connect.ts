import { shellWord } from '../core/progress/advice.ts';
import { Reader } from '../wire/reader.ts';
import type { Answer, Refused } from '../wire/reader-answer.ts';
import { isForAdmins, type Problem, type UserStatus } from '../wire/reader-shapes.ts';
import type { Status } from '../wire/status.ts';
import { type Context, Failure, stoppedCode } from './command.ts';
import { type Config, readConfig } from './config.ts';
import { explainAnswer } from './explain.ts';
import { names } from './names.ts';

/** Context of a command that connects to the server. */
export interface Session extends Context {
  reader: Reader;
  config: Config;
}

/** Creates a session with the server. @throws Failure if the address of the server is not set */
export function connect(context: Context): Session {
  const config = readConfig(context.env);
  const { url, token, openFile } = config;
  if (openFile !== null)
    context.stderr.write(
      `! Other users can read or change ${openFile}, which contains the token. To prevent this, run: chmod 600 ${shellWord(openFile)}\n`,
    );
  const headers = {
    'User-Agent': `${names().name}/${context.version}`,
    ...(token === null ? {} : { Authorization: `Bearer ${token}` }),
  };
  const address = `${url}/api/v1/instance/update`;
  return { ...context, config, reader: new Reader({ address, headers }) };
}

/** Returns the value of a valid response. @throws Failure with exit code 2 for any other response */
export async function expectAnswer<T>(asked: Promise<Answer<T>>, session: Session): Promise<T> {
  const answer = await asked;
  if (answer.kind === 'ok') return answer.value;
  throw failureOf(answer, session);
}

/** Returns the status. @throws Failure, also if the user is not an admin */
export async function statusForAdmins(
  asked: Promise<Answer<Status | UserStatus>>,
  session: Session,
): Promise<Status> {
  const status = await expectAnswer(asked, session);
  if (isForAdmins(status)) return status;
  const { url, tokenSetting } = session.config;
  throw new Failure(2, `${url} accepts this command only from admins. Check ${tokenSetting}.`);
}

/** Creates the failure of a command that requires a valid response. */
export const failureOf = (
  refused: Refused,
  { config, signal }: Pick<Session, 'config' | 'signal'>,
  problem: Problem | null = null,
): Failure => (signal.aborted ? interrupted() : new Failure(2, explainAnswer(refused, config), problem));

/** Creates the failure of a command that was interrupted before a run was started. */
export const interrupted = (): Failure => new Failure(stoppedCode, '');
