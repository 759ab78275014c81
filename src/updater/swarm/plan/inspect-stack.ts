import { UpdateError } from '../../../core/errors/update-error.ts';
import { HostPaths } from '../../../core/mounts/host-paths.ts';
import type { Container } from '../../../engine/objects/container.ts';
import { swarmLabels } from '../../../engine/objects/labels.ts';
import {
  listSwarmNodes,
  listSwarmServices,
  listSwarmTasks,
  readSwarmManagerInfo,
  type SwarmManagerInfo,
} from '../../../engine/swarm/swarm-requests.ts';
import type { SwarmNode } from '../../../engine/swarm/swarm-service.ts';
import { requireOwnContainer } from '../../compose/inspect/find-project/find-instance.ts';
import { requireCompatiblePrograms, updaterVersion } from '../../run/environment/program-versions.ts';
import { requireEngine } from '../../run/environment/require-engine.ts';
import { joinWithAnd } from '../../run/log/format-values.ts';
import { addSettingsFromFile } from '../../run/options/settings-file.ts';
import { updateOptionsOf } from '../../run/options/update-options.ts';
import type { InitialRunContext, RunContext } from '../../run/run-context.ts';
import type { StackRecordHolder } from '../record/stack-record.ts';
import {
  type ChosenStack,
  chooseStack,
  shortServiceNameOf,
  type TasksAndNodes,
} from '../services/choose-stack.ts';
import { createServiceMaskRules } from '../services/service-mask-rules.ts';
import { findStackDirectory } from './stack-files.ts';

/** State of a stack before any decision is made. */
export interface InspectedStack extends TasksAndNodes {
  /** Includes the options from the settings file if the stack's directory is mounted. */
  context: RunContext;
  chosen: ChosenStack;
  place: SwarmManagerInfo;
  own: Container;
  paths: HostPaths;
  /** Mounted directory with the stack's files; null if there is none. */
  directory: string | null;
  who: StackRecordHolder;
}

/** Runs the `inspect` phase. @throws UpdateError not-manager */
export async function inspectStack(given: InitialRunContext): Promise<InspectedStack> {
  const { line, ...first } = given;
  const { engine, log, options } = first;
  const facts = requireEngine(engine);
  const programs = await requireCompatiblePrograms(engine, facts);
  const { version: engineVersion } = await facts;
  const location = await readSwarmManagerInfo(engine);
  if (location === null) {
    const message = 'this engine is not a Swarm manager, or access to the Swarm API is denied';
    throw new UpdateError('not-manager', message);
  }
  const own = await requireOwnContainer(engine);
  const paths = new HostPaths(own.mounts);
  const directory = await findStackDirectory(paths, options);
  const context =
    directory === null
      ? first
      : { ...first, options: updateOptionsOf(await addSettingsFromFile(line, directory, log)) };
  context.notifier.addresses = context.options.notify;
  requireSupportedStackOptions(context);
  const { chosen, tasks, nodes } = await fetchStackState(context);
  const moved = [chosen.app, ...chosen.workers];
  const { cli, compose } = programs;
  log.info(
    `${options.product.name}-updater ${updaterVersion}, engine ${engineVersion}, docker CLI ${cli}, compose ${compose}; stack ${chosen.name}${directory === null ? '' : ` of ${directory}`}`,
    { engine: engineVersion, cli, compose, stack: chosen.name, directory },
  );
  const here = nodes.find(({ id }) => id === location.nodeId)?.name ?? location.nodeId;
  log.info(
    `services to update: ${joinWithAnd(moved.map((each) => shortServiceNameOf(chosen.name, each)))} (of ${chosen.services.length}); nodes: ${nodes.map(formatNode).join(', ')}; running on ${here}`,
  );
  const holder = own.labels[swarmLabels.serviceId] ?? own.id;
  const who = { holder, container: own.id, node: location.nodeId };
  return { context, chosen, tasks, nodes, place: location, own, paths, directory, who };
}

export function requireSupportedStackOptions({ options, log }: RunContext): void {
  const { expect, expectFiles, release, archive } = options.proof;
  // A trust file alone is not rejected: without a release, it applies only to the channel file.
  if (release !== null || archive !== null || expect.length + expectFiles.length > 0) {
    const message = 'stack images cannot be verified, because every node pulls them itself';
    const advice = 'Verify the release yourself, then update without verification.';
    throw new UpdateError('not-proven', message, { advice });
  }
  if (options.data.restorePoint) {
    const message = 'restore points are not supported for stacks, because the data may be on any node';
    const advice = 'Back up the database yourself, then run the update without --restore-point.';
    throw new UpdateError('data-unsupported', message, { advice });
  }
  if (options.rehearse)
    throw new UpdateError('rehearsal-unsupported', 'rehearsals are not supported for stacks', {
      advice: 'Run the update without --rehearse.',
    });
  const ignored = {
    'accept-drift': options.acceptDrift,
    'accept-own-build': options.acceptOwnBuild,
    'remove-old-images': options.removeOldImages,
    set: options.settings !== null && options.settings.size > 0,
  };
  for (const [name, isOn] of Object.entries(ignored))
    if (isOn) log.warn(`--${name} is ignored, because it applies only to compose projects`);
}

/** Called again after the previous run has ended, because that run may have changed services during the first call. */
export async function fetchStackState(
  context: RunContext,
): Promise<TasksAndNodes & Pick<InspectedStack, 'chosen'>> {
  const { engine, log, options } = context;
  const services = await listSwarmServices(engine, { label: [swarmLabels.stack] });
  const chosen = chooseStack(services, options);
  log.addMaskRules(() => createServiceMaskRules(chosen.services));
  const ids = [chosen.app, ...chosen.workers].map(({ id }) => id);
  const [tasks, nodes] = await Promise.all([listSwarmTasks(engine, ids), listSwarmNodes(engine)]);
  return { chosen, tasks, nodes };
}

const formatNode = ({ name, role, state, availability }: SwarmNode): string =>
  `${name} (${[role, ...(state === 'ready' ? [] : [state]), ...(availability === 'active' ? [] : [availability])].join(', ')})`;
