import { waitUntil } from '../../../core/cancellation/wait-until.ts';
import { UpdateError } from '../../../core/errors/update-error.ts';
import { parsePinTag } from '../../../core/release/pin-tag.ts';
import { planTagUpdate } from '../../../core/release/plan-tag-update.ts';
import type { Engine } from '../../../engine/cli/engine.ts';
import { EngineError } from '../../../engine/http/engine-error.ts';
import type { Image } from '../../../engine/objects/container.ts';
import { toCredentialHeaders } from '../../../engine/registry/registry-credentials.ts';
import {
  createSwarmService,
  listSwarmNodes,
  listSwarmServices,
  listSwarmTasks,
  removeSwarmService,
} from '../../../engine/swarm/swarm-requests.ts';
import { type PublishedImage, waitBeforePullRetry } from '../../compose/pull/fetch-published-images.ts';
import { createPullProgressReporter, createPullTimeoutError } from '../../compose/pull/pull-images.ts';
import { checkPulledImages } from '../../plan/check-pulled.ts';
import type { RunningApp } from '../../plan/check-required-release.ts';
import {
  hasInheritedVersionLabel,
  labeledVersionOf,
  type ReleasePlan,
  requireNoDowngrade,
  type ServiceUpdate,
} from '../../plan/release-plan.ts';
import { createTagLookup } from '../../plan/tag-lookup.ts';
import { formatSeconds, joinWithAnd } from '../../run/log/format-values.ts';
import { logWaitIfQuiet } from '../../run/log/heartbeat.ts';
import type { RunContext } from '../../run/run-context.ts';
import type { StackUpdatePlan } from '../plan/plan-stack.ts';
import type { StackRecordData } from '../record/stack-record.ts';
import { type PullService, planPullServices, pullServiceLabel, summarizePullState } from './pull-services.ts';

const pollMs = 500;

/** Pulls all images of an update on all nodes; changes nothing else. @throws UpdateError pull-… */
export async function pullStackImages(
  context: RunContext,
  planned: StackUpdatePlan,
  data: Pick<StackRecordData, 'run' | 'stack' | 'moves'>,
): Promise<void> {
  const { log, options } = context;
  const { published } = planned;
  const deadline = performance.now() + options.limits.pullTimeoutMs;
  const images = new Map<string, Image>();
  for (const each of published) images.set(each.reference, await pullOnThisNode(context, each, deadline));
  for (const warning of await checkPulledStackImages(context, planned, images)) log.warn(warning);
  await pullOnAllNodes(context, data, published, deadline);
}

/**
 * Uses the labels of the pulled images to check the release, and returns warnings.
 * @throws UpdateError downgrade
 */
export async function checkPulledStackImages(
  { engine }: Pick<RunContext, 'engine'>,
  planned: ReleasePlan & Pick<StackUpdatePlan, 'recalls'>,
  images: ReadonlyMap<string, Image>,
): Promise<string[]> {
  const { runningVersion } = planned.installation;
  const [app, ...workers] = [planned.app, ...planned.updates.slice(1)].map((update) =>
    hasInheritedVersionLabel(parsePinTag(update.tag), images.get(update.to)?.labels ?? {})
      ? { ...update, trustsLabel: false }
      : update,
  ) as [ServiceUpdate, ...ServiceUpdate[]];
  const updates = [app, ...workers];
  const versionOf = (update: ServiceUpdate) => labeledVersionOf(update, images.get(update.to));
  for (const update of updates) requireNoDowngrade(planned, update, versionOf(update), runningVersion);
  const running: RunningApp = {
    ...{ oldestVersion: runningVersion, isInstalled: false },
    nextTag: (required) => planTagUpdate(app.pin.tag, required),
  };
  return checkPulledImages({ ...planned, app, updates }, images, {
    version: versionOf(app),
    running,
    lookUp: createTagLookup(engine),
  });
}

/**
 * Pulls an image on this node, to log the progress in percent and to read the image's labels.
 * @throws UpdateError pull-…
 */
async function pullOnThisNode(
  { engine, log, cancellation }: RunContext,
  { reference, digest, credentials: login }: PublishedImage,
  deadline: number,
): Promise<Image> {
  const name = `${reference}@${digest}`;
  const repository = reference.replace(/:[^:/]*$/, '');
  const [there] = await engine.inspectImages([`${repository}@${digest}`]);
  if (there) {
    log.progress(100, `${name} is already on this node`);
    return there;
  }
  const onProgress = createPullProgressReporter(reference, log);
  const late = AbortSignal.timeout(Math.max(1, Math.ceil(deadline - performance.now())));
  const signal = AbortSignal.any([engine.aborted, late]);
  for (let attempt = 0; ; attempt++) {
    try {
      await engine.pullImage({ repository, tag: digest, credentials: login, onProgress, signal });
      break;
    } catch (error) {
      if (cancellation.signal.aborted || engine.aborted.aborted) throw engine.abortError;
      if (late.aborted) throw createPullTimeoutError(name);
      if (!(error instanceof EngineError)) throw error;
      await waitBeforePullRetry(
        { said: error.message, status: error.status },
        { reference, attempt, engine, log },
      );
    }
  }
  log.progress(100, `${name} was pulled`);
  const [image] = await engine.inspectImages([`${repository}@${digest}`]);
  if (!image) throw new UpdateError('pull-failed', `${name} was removed right after it was pulled`);
  return image;
}

/** Returns request headers with the credentials that the image's registry has just accepted. */
export const createSwarmCredentialHeaders = (
  published: readonly PublishedImage[],
  image: string,
): Record<string, string> =>
  toCredentialHeaders(published.find(({ digest }) => image.endsWith(digest))?.credentials ?? null);

/**
 * Before any service is changed, makes all nodes that may need the new images pull them (docs/contract.md 11.3).
 * @throws UpdateError pull-failed, pull-timeout, with the nodes that lack an image
 */
async function pullOnAllNodes(
  context: RunContext,
  { run, stack, moves }: Pick<StackRecordData, 'run' | 'stack' | 'moves'>,
  published: readonly PublishedImage[],
  deadline: number,
): Promise<void> {
  const { engine, log } = context;
  await removePullServices(engine, stack);
  const services = planPullServices(run, stack, moves, await listSwarmNodes(engine));
  const begun = performance.now();
  try {
    for (const service of services) {
      await createSwarmService(engine, service.spec, createSwarmCredentialHeaders(published, service.image));
    }
    await Promise.all(services.map((service) => awaitPulls(context, service, deadline)));
    const names = [...new Set(services.flatMap(({ nodes }) => nodes.map(({ name }) => name)))].sort();
    log.info(
      `${joinWithAnd(names)} ${names.length > 1 ? 'have' : 'has'} pulled all images (${formatSeconds(performance.now() - begun)})`,
    );
  } finally {
    await removePullServices(engine.uncancellable(), stack).catch(() => {});
  }
}

async function awaitPulls(
  { engine, log }: RunContext,
  service: PullService,
  deadline: number,
): Promise<void> {
  const told = new Set<string>();
  const observe = async () =>
    summarizePullState(
      service,
      ...(await Promise.all([listSwarmTasks(engine, [service.name]), listSwarmNodes(engine)])),
    );
  const evaluate = ({ done, failed, waiting }: ReturnType<typeof summarizePullState>) => {
    for (const name of done.filter((each) => !told.has(each))) {
      told.add(name);
      log.info(`${name} has pulled ${service.image.replace(/@.*$/, '')}`);
    }
    const isLate = performance.now() > deadline;
    if (waiting.length === 0 || isLate) {
      const late = waiting.map(({ node, state }) => ({
        node,
        error: `still ${state} when the timeout expired`,
      }));
      const missing = [...failed, ...late];
      if (missing.length === 0) return true;
      const names = missing.map(({ node }) => node);
      throw new UpdateError(
        isLate && failed.length === 0 ? 'pull-timeout' : 'pull-failed',
        `${joinWithAnd(names)} did not pull ${service.image}`,
        {
          detail: missing.map(({ node, error }) => `${node}: ${error}`),
          advice: `Find out why docker pull ${service.image} fails on ${joinWithAnd(names)} (see the engine log on ${names.length > 1 ? 'these nodes' : 'this node'}), or drain ${names.length > 1 ? 'them' : 'it'}. Then run {command} again.`,
        },
      );
    }
    logWaitIfQuiet(
      log,
      `waiting for the images to be pulled on ${waiting.map(({ node, state }) => `${node} (${state})`).join(', ')}`,
    );
  };
  await waitUntil(observe, evaluate, { pause: pollMs, signal: engine.aborted });
}

/** Removes the pull services of a stack, including those of a killed run. */
export async function removePullServices(engine: Engine, stack: string): Promise<void> {
  const left = await listSwarmServices(engine, { label: [`${pullServiceLabel}=${stack}`] });
  for (const { id } of left) await removeSwarmService(engine, id);
}
