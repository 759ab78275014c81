import { isTarget } from '../../core/release/channel.ts';
import { restorePointText } from '../../presentation/present-status.ts';
import { missingReason } from '../../wire/missing-settings.ts';
import type { Order } from '../../wire/reader.ts';
import { isForAdmins, type Problem } from '../../wire/reader-shapes.ts';
import type { Status } from '../../wire/status.ts';
import { type ClientCommand, CommandUsageError, type Context } from '../command.ts';
import { type Session, statusForAdmins } from '../connect.ts';
import { agree } from '../start/agree.ts';
import { askSettings } from '../start/ask-settings.ts';
import { decideStart, reasonIn, type Stay, stayFor } from '../start/decide.ts';
import { openStart, startAndFollow, startOptions, tellStay } from '../start/start-run.ts';
import { pathLine } from '../status-lines.ts';
import { clean } from '../text.ts';
import { clientWording } from '../times.ts';

export const instanceUpdate: ClientCommand = {
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

async function run(context: Context): Promise<number> {
  const named = namedIn(context);
  const session = openStart(context, 'update');
  const { reader, signal, tell } = session;
  const wish = { ...named, ...session.order };
  const ask = (refresh: boolean) => statusForAdmins(reader.status({ refresh, signal }), session);

  let status = await ask(false);
  // The status may be minutes old, and a release may have been published in the meantime.
  if (wish.target === undefined && status.next === null && status.reason?.code !== 'update-running')
    status = await ask(true);
  const target = decideStart(status, wish);
  if (typeof target !== 'string') return tellStay(session, target);
  const steps = stepsTo(target, status, wish);
  const goal = status.next?.upgradePath.at(-1) ?? target;
  const t = clientWording(status.now);
  if (steps.length > 1) tell(clean(pathLine([status.version, ...steps], t)));
  else if (!wish.allSteps && target === status.next?.version && goal !== target)
    tell(
      clean(
        `${target} must be installed before ${goal}. To continue to ${goal} automatically, use --all-steps.`,
      ),
    );
  const saved = restorePointText(status, steps[0] ?? target, t);
  if (saved !== '') tell(clean(saved));
  const { version, settings } = clean(status.next) ?? {};
  const listed = (steps[0] === version && settings) || [];
  const given = await askSettings(context, listed);
  const missing = missingReason(version ?? target, listed, given);
  if (missing) return tellStay(session, stayFor(missing, status));
  if (!(await agree(context, clean(status), { force: !!wish.force, steps: clean(steps) }))) {
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

/** Reads the target from the options. @throws UsageError for `--all-steps` with `--target canary` */
function namedIn({ args: { options } }: Context): Partial<Order> {
  const { target } = options;
  const allSteps = options['all-steps'] === true;
  if (allSteps && target === 'canary')
    throw new CommandUsageError('--all-steps cannot be combined with --target canary.');
  return { ...(typeof target === 'string' && { target }), ...(allSteps && { allSteps }) };
}

/** Returns the releases to install, with one update for each. */
function stepsTo(target: string, { next }: Status, { allSteps }: Partial<Order>): readonly string[] {
  const at = allSteps && next ? next.upgradePath.indexOf(target) : -1;
  return next && at >= 0 ? next.upgradePath.slice(0, at + 1) : [target];
}

async function refusal({ reader, signal }: Session, problem: Problem, status: Status): Promise<Stay> {
  const reason = reasonIn(problem);
  if (reason.code !== 'update-running') return stayFor(reason, status, problem);
  // Another update was started in the meantime. Only a new status contains its run.
  const answer = await reader.status({ signal });
  const current = answer.kind === 'ok' && isForAdmins(answer.value) ? answer.value : status;
  return stayFor(reason, current, problem);
}
