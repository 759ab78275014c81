import { isTarget } from '../../core/release/channel.ts';
import { restorePointText } from '../../presentation/present-status.ts';
import { missingReason } from '../../wire/missing-settings.ts';
import type { UpdateOrderBody } from '../../wire/reader.ts';
import { isForAdmins, type Problem } from '../../wire/reader-shapes.ts';
import type { Status } from '../../wire/status.ts';
import { type ClientCommand, type CommandContext, CommandUsageError } from '../command.ts';
import { requireAdminStatus, type Session } from '../connect.ts';
import { confirmStart } from '../start/agree.ts';
import { promptSettings } from '../start/ask-settings.ts';
import { decideStart, type NoStart, noStartFor, reasonIn } from '../start/decide.ts';
import { openStart, printNoStart, startAndFollow, startOptions } from '../start/start-run.ts';
import { pathLine } from '../status-lines.ts';
import { cleanTexts } from '../text.ts';
import { clientWording } from '../times.ts';

export const instanceUpdateCommand: ClientCommand = {
  name: 'instance update',
  summary: 'Update {product} and follow the update until the new version responds',
  options: {
    target: {
      value: 'VERSION',
      form: [{ test: isTarget }, '"canary" or a version such as v1.5.0'],
      help: 'Version to install, e.g. v1.5.0, or canary (default: the offered version)',
    },
    set: {
      value: 'NAME[=VALUE]',
      isList: true,
      help: 'Value for a new setting; without =VALUE, {product} asks for it',
    },
    'all-steps': { help: 'Install all releases on the upgrade path, one after the other' },
    ...startOptions(
      'update',
      'Do not ask for confirmation before installing a major version or stopping jobs',
    ),
  },
  examples: [
    ['{product} instance update', 'update to the offered version and follow the update'],
    ['{product} instance update --when-idle', 'update as soon as running jobs have finished'],
  ],
  run,
};

async function run(context: CommandContext): Promise<number> {
  const named = namedIn(context);
  const session = openStart(context, 'update');
  const { reader, signal, tell } = session;
  const wish = { ...named, ...session.order };
  const ask = (refresh: boolean) => requireAdminStatus(reader.status({ refresh, signal }), session);

  let status = await ask(false);
  // The status may be based on data that is minutes old, and a release may have been published since then.
  if (wish.target === undefined && status.next === null && status.reason?.code !== 'update-running')
    status = await ask(true);
  const target = decideStart(status, wish);
  if (typeof target !== 'string') return printNoStart(session, target);
  const steps = stepsTo(target, status, wish);
  const goal = status.next?.upgradePath.at(-1) ?? target;
  const t = clientWording(status.now);
  if (steps.length > 1) tell(cleanTexts(pathLine([status.version, ...steps], t)));
  else if (!wish.allSteps && target === status.next?.version && goal !== target)
    tell(
      cleanTexts(
        `${target} must be installed before ${goal}. To continue to ${goal} automatically, use --all-steps.`,
      ),
    );
  const saved = restorePointText(status, steps[0] ?? target, t);
  if (saved !== '') tell(cleanTexts(saved));
  const { version, settings } = cleanTexts(status.next) ?? {};
  const listed = (steps[0] === version && settings) || [];
  const given = await promptSettings(context, listed);
  const missing = missingReason(version ?? target, listed, given);
  if (missing) return printNoStart(session, noStartFor(missing, status));
  if (!(await confirmStart(context, cleanTexts(status), { force: !!wish.force, steps: cleanTexts(steps) }))) {
    tell('The update was not started.');
    return 3;
  }
  const order = {
    target,
    ...session.order,
    ...(wish.allSteps && target !== status.next?.version && { allSteps: wish.allSteps }),
    ...(Object.keys(given).length > 0 && { settings: given }),
  };
  return startAndFollow(session, {
    before: status.run?.id ?? null,
    ask: () => reader.start(order, { signal }),
    refusal: (problem) => refusal(session, problem, status),
  });
}

/** Returns the target that the options specify. @throws UsageError for `--all-steps` with `--target canary` */
function namedIn({ args: { options } }: CommandContext): Partial<UpdateOrderBody> {
  const { target } = options;
  const allSteps = options['all-steps'] === true;
  if (allSteps && target === 'canary')
    throw new CommandUsageError('--all-steps cannot be combined with --target canary.');
  return { ...(typeof target === 'string' && { target }), ...(allSteps && { allSteps }) };
}

/** Returns the releases to install in order, each with a separate update. */
function stepsTo(
  target: string,
  { next }: Status,
  { allSteps }: Partial<UpdateOrderBody>,
): readonly string[] {
  const at = allSteps && next ? next.upgradePath.indexOf(target) : -1;
  return next && at >= 0 ? next.upgradePath.slice(0, at + 1) : [target];
}

async function refusal({ reader, signal }: Session, problem: Problem, status: Status): Promise<NoStart> {
  const reason = reasonIn(problem);
  if (reason.code !== 'update-running') return noStartFor(reason, status, problem);
  // Another update was started in the meantime, and only a new status contains the run of that update.
  const answer = await reader.status({ signal });
  const current = answer.kind === 'ok' && isForAdmins(answer.value) ? answer.value : status;
  return noStartFor(reason, current, problem);
}
