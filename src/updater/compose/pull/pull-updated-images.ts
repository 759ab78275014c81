import { isSamePublisher, parseImageReference } from '../../../core/compose/pins/image-reference.ts';
import { type ErrorCode, UpdateError } from '../../../core/errors/update-error.ts';
import type { Compose, ComposeModel } from '../../../engine/cli/compose.ts';
import type { Engine } from '../../../engine/cli/engine.ts';
import { isSameImage, type LocalImage } from '../../../engine/comparison/same-image.ts';
import type { Image } from '../../../engine/objects/container.ts';
import type { ServiceUpdate } from '../../plan/release-plan.ts';
import type { ExpectedDigests } from '../../run/release/expected-digests.ts';
import type { RunContext } from '../../run/run-context.ts';
import { createLocalBuildError } from '../checks/check-local-builds.ts';
import type { Installation } from '../inspect/installation.ts';
import type { ProjectUpdatePlan } from '../plan/prepared-plan.ts';
import type { BackgroundPull } from './background-pull.ts';
import { fetchPublishedImage } from './fetch-published-images.ts';
import { findFailedImages } from './find-failed-images.ts';
import { loadImagesFromArchive } from './load/load-images.ts';
import { findLocalImages, type PreviousTag, readTagsBeforePull, untagImages } from './local-tags.ts';
import { pullImages } from './pull-images.ts';
import { requireExpectedDigests, requireVerifiedImages, serviceOfImageKey } from './require-verified.ts';

/** Images that tags pointed to before the pull, recorded so that the tags can be restored. */
export interface PreviousTagJournal {
  readonly data: { run: string; tags: readonly PreviousTag[] };
  write(changes: { tags: readonly PreviousTag[] }): Promise<void>;
}

interface PullSettings {
  /** Deadline shared by all pulls of the run, as a `performance.now()` time in ms. */
  deadline: number;
  /** Null for a prefetch, which must not change local tags. */
  journal: PreviousTagJournal | null;
  /**
   * Whether local tags must not change yet. If true, an image whose tag already exists locally is pulled by digest.
   */
  shouldKeepTags: boolean;
  backgroundPull?: BackgroundPull | undefined;
}

const referencesOf = (updates: readonly ServiceUpdate[]): ReadonlyMap<string, string> =>
  new Map(updates.map(({ service, to }) => [service, to] as const));

/** Pulls the images in the plan. Returns the local images, keyed by reference. */
export async function pullUpdatedImages(
  context: RunContext,
  plan: ProjectUpdatePlan,
  obtaining: PullSettings,
) {
  const { updates, expected, unconfirmed } = plan;
  const isLoaded = context.options.proof.archive !== null;
  for (const { service, to, shouldPull: pull } of updates) {
    if (!pull && !isLoaded)
      context.log.info(`${service} has pull_policy: never, so the local image ${to} is used`);
  }
  const named = referencesOf(updates);
  if (expected !== null) requireExpectedDigests(named, expected.images);
  const wanted = referencesOf(updates.filter(({ shouldPull: pull }) => pull || isLoaded));
  try {
    return await pullOrLoadImages(context, plan, { wanted, named, percent: true }, obtaining);
  } catch (error) {
    const codes: ErrorCode[] = ['pull-unknown', 'pull-denied', 'pull-unreachable'];
    if (!(error instanceof UpdateError) || !codes.includes(error.code)) throw error;
    const failed = findFailedImages(named.values(), [...error.detail, error.message], error.code);
    // An image that the owner has built may be in no registry, so its failed pull is reported with a different error.
    const own = updates.find(({ service, to }) => unconfirmed.includes(service) && failed.includes(to));
    throw own === undefined ? error : createLocalBuildError(plan, own, `its pull failed: ${error.message}`);
  }
}

/**
 * Pulls images that only the new files use. Verifies those that belong to the release.
 * @param added - references, keyed by service
 */
export async function pullAddedImages(
  context: RunContext,
  plan: ProjectUpdatePlan,
  added: ReadonlyMap<string, string>,
  obtaining: PullSettings,
): Promise<Map<string, Image>> {
  if (added.size === 0) return new Map();
  const { journal } = obtaining;
  const tags = await readTagsBeforePull(context.engine, added.values());
  await journal?.write({ tags: [...journal.data.tags, ...tags] });
  const named = new Map([...added].filter(([key, to]) => shouldVerifyImage(key, to, plan.updates)));
  return pullOrLoadImages(context, plan, { wanted: added, named, percent: false }, obtaining);
}

/**
 * Pulls images, or loads them from the archive. If an image cannot be verified, removes the tags that the pull added.
 * @param wanted - references to pull, keyed by service
 * @param named - references to verify, keyed by service
 * @throws UpdateError pull-…, not-proven
 */
async function pullOrLoadImages(
  context: RunContext,
  { installation: { compose, platform, model }, expected }: ProjectUpdatePlan,
  {
    wanted,
    named,
    percent,
  }: { wanted: ReadonlyMap<string, string>; named: ReadonlyMap<string, string>; percent: boolean },
  { deadline, journal, shouldKeepTags: keepTags, backgroundPull }: PullSettings,
): Promise<Map<string, Image>> {
  const { engine, log, options } = context;
  const isLoaded = options.proof.archive !== null;
  const forms =
    keepTags && !isLoaded ? await resolvePullReferences(context, wanted.values()) : new Map<string, string>();
  if (isLoaded) await loadArchivedImages(context, wanted, { expected, platform, deadline });
  else if (wanted.size > 0 && !(await backgroundPull?.awaitImages(wanted, log)))
    await pullImages(context, compose, replaceReferences(wanted, forms), {
      deadline,
      platform,
      model,
      percent,
    });
  const images = await requireLocal(engine, [...named.values(), ...wanted.values()], forms);
  try {
    if (expected !== null) requireVerifiedImages(named, images, expected);
  } catch (error) {
    const before = new Set([
      ...forms.keys(),
      ...(journal?.data.tags ?? []).map(({ reference }) => reference),
    ]);
    const added = [...new Set(wanted.values())].filter((reference) => !before.has(reference));
    await untagImages(engine, added);
    throw error;
  }
  return images;
}

/**
 * Loads images from the archive. Images that are not in the archive must already be on this machine.
 * @throws UpdateError not-proven, pull-…
 */
async function loadArchivedImages(
  context: RunContext,
  wanted: ReadonlyMap<string, string>,
  { expected, ...how }: { expected: ExpectedDigests | null; platform: string; deadline: number },
): Promise<void> {
  const archive = context.options.proof.archive ?? '';
  if (expected === null) {
    const message = `${archive} cannot be verified, because its expected contents are not specified`;
    throw new UpdateError('not-proven', message);
  }
  const local = await findLocalImages(context.engine, wanted.values());
  const isHere = (reference: string) =>
    local.has(reference) && parseImageReference(reference)?.digest !== null;
  const missing = new Map([...wanted].filter(([, reference]) => !isHere(reference)));
  const loaded = await loadImagesFromArchive(context, missing, { from: archive, expected, ...how });
  for (const [service, reference] of missing) {
    if (loaded.has(reference) || local.has(reference)) continue;
    const message = `the image ${reference} used by ${serviceOfImageKey(service)} is neither in ${archive} nor on this machine`;
    const advice = 'Load the image with docker load or pull it once, then run {command} again.';
    throw new UpdateError('pull-unknown', message, { advice });
  }
}

/**
 * Maps each reference that has a local image to a reference by the digest in the registry. A pull by digest changes no
 * local tag.
 */
async function resolvePullReferences(
  context: RunContext,
  references: Iterable<string>,
): Promise<ReadonlyMap<string, string>> {
  const local = await findLocalImages(context.engine, references);
  const requested = [...local.keys()].map(async (reference): Promise<[string, string]> => {
    const { repository, tag, digest } = parseImageReference(reference) ?? { repository: reference };
    if (digest) return [reference, reference];
    const named = `${repository}:${tag ?? 'latest'}`;
    return [reference, `${repository}@${(await fetchPublishedImage(context, repository, named)).digest}`];
  });
  return new Map(await Promise.all(requested));
}

const replaceReferences = (wanted: ReadonlyMap<string, string>, forms: ReadonlyMap<string, string>) =>
  new Map([...wanted].map(([service, reference]) => [service, forms.get(reference) ?? reference] as const));

/**
 * Adds the references without a tag. Each gets the image that was pulled with its `latest` tag, because that image
 * would otherwise be pulled twice.
 */
export function addUntaggedReferences(
  images: ReadonlyMap<string, Image>,
  references: Iterable<string>,
): Map<string, Image> {
  const all = new Map(images);
  for (const reference of references) {
    const { tag, digest } = parseImageReference(reference) ?? {};
    const image = images.get(`${reference}:latest`);
    if (tag === null && digest === null && image !== undefined) all.set(reference, image);
  }
  return all;
}

/**
 * Returns the mounted images (`type: image`) that are missing or belong to the release, with keys such as
 * `app.volume0`. Compose pulls only the services' images, and `up` fails without a mounted image.
 */
export async function findMountedImages(
  engine: Engine,
  { services }: ComposeModel,
  names: readonly string[],
  updates: readonly ServiceUpdate[],
): Promise<Map<string, string>> {
  const all = names.flatMap((name) =>
    (services[name]?.volumes ?? []).flatMap(({ type, source = '' }, at) =>
      type === 'image' ? [[`${name}.volume${at}`, source] as const] : [],
    ),
  );
  const local = await findLocalImages(engine, new Map(all).values());
  const pulled = updates.filter(({ shouldPull: pull }) => pull);
  return new Map(all.filter(([, source]) => !local.has(source) || isOfRelease(source, pulled)));
}

/**
 * Whether an image belongs to the release, and must therefore be verified.
 * @param key - a service, or a mounted image such as `app.volume0`
 */
export const shouldVerifyImage = (key: string, to: string, updates: readonly ServiceUpdate[]): boolean =>
  serviceOfImageKey(key) === key ? updates.some(({ service }) => service === key) : isOfRelease(to, updates);

/** Whether a mounted image has the same publisher and tag as an updated image. */
const isOfRelease = (source: string, updates: readonly ServiceUpdate[]): boolean =>
  updates.some(({ to }) => {
    const [own, moved] = [parseImageReference(source), parseImageReference(to)];
    return own && moved && own.tag === moved.tag && isSamePublisher(own, moved);
  });

/**
 * Pulls missing images of `pre_start` hooks. Compose does not pull such an image, and would fail only after it has
 * removed the old container.
 */
export async function pullHookImages(
  context: RunContext,
  { compose, platform }: Installation,
  { services }: ComposeModel,
  { names, deadline }: { names: readonly string[]; deadline: number },
): Promise<void> {
  const { engine, options } = context;
  const wanted = names.flatMap((name) =>
    (services[name]?.pre_start ?? []).flatMap(({ image }) => (image ? [[name, image] as const] : [])),
  );
  const byImage = new Map(wanted.map(([name, image]) => [image, name]));
  const local = await findLocalImages(engine, byImage.keys());
  const missing = new Map([...byImage].filter(([image]) => !local.has(image)));
  for (const [image, name] of missing) {
    if (services[name]?.pull_policy === 'never' || options.proof.archive !== null) continue;
    await pullImages(context, compose, new Map([[name, image]]), { deadline, platform, percent: false });
  }
  await requireLocal(engine, missing.keys());
}

/**
 * Pulls a service's image again if it was removed, for example by `docker image prune`. Returns whether the image was
 * missing.
 * @throws UpdateError pull-…; recreate-failed if the reference now points to a different image
 */
export async function pullMissingImage(
  { engine, log, options }: Pick<RunContext, 'engine' | 'log' | 'options'>,
  compose: Compose,
  service: string,
  { reference, ...wanted }: { reference: string } & LocalImage,
): Promise<boolean> {
  if ((await findLocalImages(engine, [reference])).has(reference)) return false;
  log.warn(`${reference} was removed from this machine in the meantime; pulling it again`);
  const deadline = performance.now() + options.limits.pullTimeoutMs;
  await pullImages({ engine, log }, compose, new Map([[service, reference]]), { deadline, percent: false });
  const images = await requireLocal(engine, [reference]);
  if (!isSameImage(wanted, images.get(reference))) {
    const message = `${reference} now points to a different image than the one that was checked`;
    throw new UpdateError('recreate-failed', message);
  }
  return true;
}

/**
 * Returns the local image of every reference.
 * @param forms - references to look up instead, such as a digest instead of a tag, keyed by the original references
 * @throws UpdateError pull-failed if an image is missing
 */
async function requireLocal(
  engine: Engine,
  references: Iterable<string>,
  forms: ReadonlyMap<string, string> = new Map(),
): Promise<Map<string, Image>> {
  const list = [...new Set(references)].map((each) => [each, forms.get(each) ?? each] as const);
  const found = await findLocalImages(
    engine,
    list.map(([, form]) => form),
  );
  return new Map(
    list.map(([reference, form]) => {
      const image = found.get(form);
      if (!image) throw new UpdateError('pull-failed', `${form} is not on this machine`);
      return [reference, image] as const;
    }),
  );
}
