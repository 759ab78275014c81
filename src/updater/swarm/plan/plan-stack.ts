import type { ProjectDraft } from '../../../core/compose/draft.ts';
import { UpdateError } from '../../../core/errors/update-error.ts';
import { compareSharedVersionNumbers } from '../../../core/release/compare-versions.ts';
import { isNumberedTag } from '../../../core/release/pin-tag.ts';
import { replicaCountOf, type SwarmNode } from '../../../engine/swarm/swarm-service.ts';
import { fetchPublishedImage, type PublishedImage } from '../../compose/pull/fetch-published-images.ts';
import { requirePublishedTags } from '../../plan/check-published.ts';
import type { ReleasePlan } from '../../plan/release-plan.ts';
import { createTagLookup } from '../../plan/tag-lookup.ts';
import { joinWithAnd } from '../../run/log/format-values.ts';
import { type Recalls, readRecalls } from '../../run/release/recalls.ts';
import { runOutcomeOf } from '../../run/state/run-state.ts';
import type { SpecInheritance } from '../record/plan-stack-recovery.ts';
import type { FoundStackRecord } from '../record/stack-record.ts';
import {
  type ChosenStack,
  listEligibleNodes,
  shortServiceNameOf,
  stackFileImageOf,
} from '../services/choose-stack.ts';
import { classifySpecImage, isActiveNode, type StackServiceUpdate } from '../services/specs.ts';
import { isRunOnceService, isTaskAlive } from '../services/tasks.ts';
import type { InspectedStack } from './inspect-stack.ts';
import { imageTagOf } from './plan-service-updates.ts';
import { draftStackFiles, formatImagesToChange, readStackFiles, type StackFiles } from './stack-files.ts';

/** All decisions made before the first change. */
export interface StackUpdatePlan extends ReleasePlan {
  /**
   * Whether all old app tasks stop before new ones start. Reasons: `--stop-first`, an app task that is not running, or
   * services that the previous run left half updated.
   */
  stopFirst: boolean;
  moves: readonly StackServiceUpdate[];
  published: readonly PublishedImage[];
  /** Stack files and their planned changes; null if no directory is mounted. */
  files: (StackFiles & { draft: ProjectDraft }) | null;
  /** Recalls from the channel file; null without a channel file. */
  recalls: Recalls | null;
}

/**
 * Runs the `plan` phase: queries registries and reads files, but changes nothing.
 * @param previous - record of the previous run
 */
export async function planStackUpdate(
  { context, chosen, tasks, nodes, directory }: Omit<InspectedStack, 'place' | 'own' | 'paths' | 'who'>,
  previous: FoundStackRecord | null,
  { plan, inherits }: { plan: ReleasePlan; inherits: SpecInheritance },
): Promise<StackUpdatePlan> {
  requireNoOlderVersion(plan, previous, chosen);
  const recalls = await readRecalls(context);
  const before = inherits === 'nothing' ? [] : (previous?.data.moves ?? []);
  const left = before.flatMap((move) => [move.label, stackFileImageOf({ spec: move.before })]);
  const read = directory === null ? null : await readStackFiles(context, directory, { chosen, plan, left });
  const published = new Map<string, PublishedImage>();
  await requirePublishedTags(plan, createTagLookup(context.engine));
  for (const { to, pin } of plan.updates) {
    if (!published.has(to))
      published.set(to, await fetchPublishedImage(context, pin.reference.repository, to));
  }
  const moves = [chosen.app, ...chosen.workers].map((service, at): StackServiceUpdate => {
    const { pin, to } = plan.updates[at] ?? plan.app;
    const { digest = '', platforms = [] } = published.get(to) ?? {};
    const move = before.find(({ id }) => id === service.id);
    const base = move && classifySpecImage(move, service.spec) !== null ? move : undefined;
    const isOnce =
      base?.role === 'once' || isRunOnceService(service, tasks, context.options.limits.waitTimeoutMs);
    return {
      id: service.id,
      name: service.name,
      role: at === 0 ? 'app' : isOnce ? 'once' : 'worker',
      before: service.spec,
      wanted: base?.wanted ?? service.spec,
      image: `${to}@${digest}`,
      label: pin.reference.digest === null ? to : `${to}@${digest}`,
      platforms,
    };
  });
  const digests = new Map([...published].map(([to, { digest }]) => [to, digest] as const));
  const files = read && { ...read, draft: await draftStackFiles(context, read, { chosen, plan, digests }) };
  // If an app task is waiting for its restart, all old tasks must stop first. Otherwise, that task could start while
  // new tasks are running.
  const isIll = tasks.some(
    (task) => task.service === chosen.app.id && isTaskAlive(task) && task.state !== 'running',
  );
  const stopFirst = context.options.stack.stopFirst || inherits === 'halfway' || isIll;
  const away = listEligibleNodes(chosen, nodes).filter((node) => !isActiveNode(node));
  const changed = formatImagesToChange(plan);
  const warnings = [
    ...plan.warnings,
    ...(stopFirst && !context.options.stack.stopFirst
      ? [
          `not all tasks of ${chosen.app.name} are running, so all old tasks will be stopped before new tasks start`,
        ]
      : []),
    ...(away.length > 0
      ? [`these nodes cannot pull the images in advance: ${joinWithAnd(away.map(formatUnavailableNode))}`]
      : []),
    ...(directory === null
      ? [
          changed === ''
            ? `the stack directory is not mounted: if you deploy the stack file unchanged, ${plan.from} will start on migrated data`
            : `the stack directory is not mounted: before the next deployment, change ${changed} in the stack file, or ${plan.from} will start on migrated data`,
        ]
      : []),
  ];
  return { ...plan, stopFirst, moves, published: [...published.values()], files, recalls, warnings };
}

/**
 * Rejects the update if an older version has run after a newer one. The older version may have changed data that the
 * newer one had migrated.
 */
function requireNoOlderVersion(
  { installation: { runningVersion: running }, from }: ReleasePlan,
  previous: FoundStackRecord | null,
  { name: stack, app }: ChosenStack,
): void {
  // A stack that was removed and deployed again has new service ids and is not checked.
  if (previous?.data.moves[0]?.id !== app.id) return;
  const { labels, data } = previous;
  if (!running || (runOutcomeOf(labels.state)?.outcome !== 'updated' && !labels.started)) return;
  const tag = imageTagOf(data.moves[0]?.image ?? '');
  if (!isNumberedTag(tag) || compareSharedVersionNumbers(running, tag.version) >= 0) return;
  const message = `${data.to} was installed, but ${from} is running again: an old stack file was deployed`;
  const advice = `Deploy ${data.to} or a newer release manually. If you have restored the data of ${from}, remove the config svc-updater.${stack} instead and run {command} again.`;
  throw new UpdateError('downgrade', message, { advice });
}

/** Returns the line that `plan` prints for a service. */
export const describeServiceUpdate = (
  stack: string,
  { name, role, wanted, label, image }: StackServiceUpdate,
): string => {
  const replicas = replicaCountOf(wanted);
  const many =
    replicas === null ? 'one task per node' : replicas === 1 ? 'one replica' : `${replicas} replicas`;
  const how = role === 'once' ? 'runs once, before the app' : many;
  return `image of ${shortServiceNameOf(stack, { name })} (${how}): ${label}${label.includes('@') ? '' : `, digest ${image.slice(image.indexOf('@') + 1)}`}`;
};

const formatUnavailableNode = ({ name, state, availability }: SwarmNode): string =>
  `${name} (${state === 'ready' ? availability : state})`;
