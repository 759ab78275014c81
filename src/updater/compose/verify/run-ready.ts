import { UpdateError } from '../../../core/errors/update-error.ts';
import { runAttachedCommand } from '../../../engine/cli/run-attached-command.ts';
import { listProjectContainers } from '../../../engine/containers/project-containers.ts';
import { compareContainerNumbers, serviceOf } from '../../../engine/objects/container.ts';
import { awaitWithHeartbeat } from '../../run/log/heartbeat.ts';
import type { RunContext } from '../../run/run-context.ts';
import { RetryableError } from '../../run/run-steps.ts';

const keptLines = 20;
const longestLine = 500;
/** Additional time in ms for the engine to start and end a command. */
const engineOverheadMs = 10_500;
const killedExitCode = 137;
const connectionLostMessage = /^(?:error during connect|(?:cannot|failed to) connect to the docker )/i;
/** Error that container runtimes report for a missing `timeout` program. */
const missingTimeoutMessage = /exec: "timeout"|executable file [`'"]?timeout/;

/**
 * Runs the release's ready command in a container of the app (docs/contract.md 2.27). The program `timeout` in the
 * container limits the time, because killing the docker command would leave the ready command running.
 * @param project - name of the compose project
 * @param verifyBy - end of `--wait-timeout`, as a `performance.now()` time in ms
 * @throws UpdateError broken; RetryableError if the container was restarted and must be verified again
 */
export async function runReadyCommand(
  { engine, log, options: { app } }: RunContext,
  command: readonly string[],
  { project, verifyBy }: { project: string; verifyBy: number },
): Promise<void> {
  const look = async () =>
    (await listProjectContainers(engine, project)).containers
      .filter((each) => serviceOf(each) === app && each.status === 'running')
      .sort(compareContainerNumbers);
  const restarted = new RetryableError(
    'restarted',
    new UpdateError('broken', `${app} was restarted repeatedly`),
    {
      sentence: `${app} was restarted before its ready command succeeded; verifying it again`,
      tries: 10,
    },
  );
  const [container] = await look();
  if (container === undefined) throw restarted;
  const { id, name, startedAt } = container;
  const beganAt = performance.now();
  const limit = Math.ceil(Math.min(Math.max((verifyBy - beganAt) / 1000, 10), 60));
  const run = (words: readonly string[], deadlineMs: number) => {
    const requested = ['exec', id, ...words];
    const waiting = runAttachedCommand(engine, requested, deadlineMs);
    return awaitWithHeartbeat(log, `waiting for the ready command in ${name}`, waiting);
  };
  log.info(`running the ready command in ${name}`);
  const limited = await run(
    ['timeout', '-s', 'KILL', `${limit}`, ...command],
    limit * 1000 + engineOverheadMs,
  );
  const isEndless =
    [126, 127].includes(limited.exitCode ?? 0) && missingTimeoutMessage.test(limited.lines.join());
  const { exitCode, lines: printed } = isEndless ? await run(command, limit * 1000 + 1) : limited;
  if (exitCode === 0) return;
  const isSame = (await look()).some((each) => each.id === id && each.startedAt === startedAt);
  if (!isSame) throw restarted;
  const lines = printed
    .map((line) => log.maskText(line).trim().slice(0, longestLine))
    .filter((line) => line !== '')
    .slice(-keptLines);
  const isKilled = exitCode === killedExitCode;
  const isLate = exitCode === null || (isKilled && performance.now() - beganAt >= limit * 1000);
  const still = isEndless ? ' and may still be running, because the image has no timeout program' : '';
  const how = isLate ? `did not finish within ${limit} s${still}` : `failed with exit code ${exitCode}`;
  const message = [`the ready command in ${name} ${how}`, ...lines.slice(-1)].join(': ');
  const failure = new UpdateError('broken', message, { detail: lines });
  // The result is unclear if the engine restarted or the container was stopped. The engine may report the end of the
  // command before the end of the container.
  const isUnclear = (isKilled && !isLate) || connectionLostMessage.test(lines.at(-1) ?? '');
  throw isUnclear ? new RetryableError('unclear', failure) : failure;
}
