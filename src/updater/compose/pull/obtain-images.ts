import { isOnePublisher, parseReference } from '../../../core/compose/reference.ts';
import { type ErrorCode, UpdateError } from '../../../core/progress/update-error.ts';
import type { Compose, Model } from '../../../engine/cli/compose.ts';
import type { Engine } from '../../../engine/cli/engine.ts';
import type { Image } from '../../../engine/container.ts';
import { rejections, unless } from '../../../engine/http/engine-error.ts';
import { isSameImage, type LocalImage } from '../../../engine/same-image.ts';
import type { Expectations } from '../../run/expectations.ts';
import type { RunContext } from '../../run/run-context.ts';
import { ownBuild } from '../facts/own-builds.ts';
import type { Installation } from '../inspect/installation.ts';
import type { Move, Plan } from '../plan/plan.ts';
import { askPublished } from './ask-published.ts';
import type { EarlyPull } from './early-pull.ts';
import { failedImages } from './failed-images.ts';
import { loadImages } from './load/load-images.ts';
import { pullImages } from './pull-images.ts';
import { requireNamed, requireProven, serviceOfKey } from './require-proven.ts';
import { localImages, type TagBefore, tagsBefore } from './tags.ts';

/** Where it is noted what tags named before, so that they can be moved back. */
export interface TagNotes {
  readonly data: { run: string; tags: readonly TagBefore[] };
  write(changes: { tags: readonly TagBefore[] }): Promise<void>;
}

/** How images are obtained. */
interface Obtaining {
  /** Of all pulls of the run together, by `performance.now()`. */
  deadline: number;
  /** Null for a fetch. */
  journal: TagNotes | null;
  /** No tag that names an image here moves yet: such an image is pulled by its digest. */
  keepTags: boolean;
  begun?: EarlyPull | undefined;
}

/** The images of the plan by reference, all of them local. */
export async function pullMoves(context: RunContext, plan: Plan, obtaining: Obtaining) {
  try {
    return await obtainMoves(context, plan, obtaining);
  } catch (error) {
    throw asOwnBuild(plan, error);
  }
}

/** An own build under an own name is in no registry. */
function asOwnBuild(plan: Plan, error: unknown): unknown {
  const codes: ErrorCode[] = ['pull-unknown', 'pull-denied', 'pull-unreachable'];
  if (!(error instanceof UpdateError) || !codes.includes(error.code)) return error;
  const all = plan.moves.map(({ to }) => to);
  const failed = failedImages(all, [...error.detail, error.message], error.code);
  const own = plan.moves.find(({ service, to }) => plan.unconfirmed.includes(service) && failed.includes(to));
  return own === undefined ? error : ownBuild(plan, own, `its pull failed: ${error.message}`);
}

async function obtainMoves(
  context: RunContext,
  { installation, moves, expected }: Plan,
  { deadline, journal, keepTags, begun }: Obtaining,
): Promise<Map<string, Image>> {
  const { log, options } = context;
  const { compose, platform, model } = installation;
  const isLoaded = options.proof.archive !== null;
  const moved = isLoaded ? moves : moves.filter(({ pull }) => pull);
  const wanted = new Map(moved.map(({ service, to }) => [service, to] as const));
  for (const { service, to, pull } of moves) {
    if (!pull && !isLoaded) log.info(`${service} has pull_policy: never, so the local image ${to} is used`);
  }
  const named = new Map(moves.map(({ service, to }) => [service, to] as const));
  if (expected !== null) requireNamed(named, expected.images);
  const forms = keepTags && !isLoaded ? await formsFor(context, wanted.values()) : new Map<string, string>();
  if (isLoaded) await loadAll(context, wanted, { expected, platform, deadline });
  else if (wanted.size > 0 && !(await begun?.has(wanted, log)))
    await pullImages(context, compose, inForms(wanted, forms), { deadline, platform, model });
  const images = await requireLocal(
    context.engine,
    moves.map(({ to }) => to),
    forms,
  );
  await requireAllProven(context, named, images, { wanted, forms, journal, expected });
  return images;
}

/** Else the names that images have got by the pull are gone again: nobody is to find them. @throws UpdateError not-proven */
async function requireAllProven(
  { engine }: RunContext,
  named: ReadonlyMap<string, string>,
  images: ReadonlyMap<string, Image>,
  pull: Pick<Obtaining, 'journal'> & {
    expected: Plan['expected'];
    wanted: ReadonlyMap<string, string>;
    forms: ReadonlyMap<string, string>;
  },
): Promise<void> {
  const { wanted, forms, journal, expected } = pull;
  if (expected === null) return;
  try {
    requireProven(named, images, expected);
  } catch (error) {
    const before = new Set([
      ...forms.keys(),
      ...(journal?.data.tags ?? []).map(({ reference }) => reference),
    ]);
    for (const reference of new Set(wanted.values()))
      if (!before.has(reference)) await engine.removeImage(reference).catch(unless(...rejections));
    throw error;
  }
}

/** Out of the archive; what it has not is to be here. @throws UpdateError not-proven, pull-… */
async function loadAll(
  context: RunContext,
  wanted: ReadonlyMap<string, string>,
  { expected, ...how }: { expected: Expectations | null; platform: string; deadline: number },
): Promise<void> {
  const archive = context.options.proof.archive ?? '';
  if (expected === null)
    throw new UpdateError(
      'not-proven',
      `${archive} cannot be verified, because its expected contents are not specified`,
    );
  const loaded = await loadImages(context, wanted, { from: archive, expected, ...how });
  const others = [...wanted].filter(([, reference]) => !loaded.has(reference));
  const local = await localImages(
    context.engine,
    others.map(([, reference]) => reference),
  );
  for (const [service, reference] of others) {
    if (local.has(reference)) continue;
    throw new UpdateError(
      'pull-unknown',
      `the image ${reference} used by ${serviceOfKey(service)} is neither in ${archive} nor on this machine`,
      { advice: 'Load the image with docker load or pull it once, then run {command} again.' },
    );
  }
}

/** The references by which images are pulled: where no tag may move, by digest what a tag that names an image here leads to now. */
async function formsFor(
  context: RunContext,
  references: Iterable<string>,
): Promise<ReadonlyMap<string, string>> {
  const local = await localImages(context.engine, references);
  const asked = [...local.keys()].map(async (reference): Promise<[string, string]> => {
    const { repository, tag, digest } = parseReference(reference) ?? { repository: reference };
    if (digest) return [reference, reference];
    const named = `${repository}:${tag ?? 'latest'}`;
    return [reference, `${repository}@${(await askPublished(context, repository, named)).digest}`];
  });
  return new Map(await Promise.all(asked));
}

const inForms = (wanted: ReadonlyMap<string, string>, forms: ReadonlyMap<string, string>) =>
  new Map([...wanted].map(([service, reference]) => [service, forms.get(reference) ?? reference] as const));

/** With the references that have no tag: they mean `latest`, which is here and is not pulled a second time. */
export function withUntagged(
  images: ReadonlyMap<string, Image>,
  references: Iterable<string>,
): Map<string, Image> {
  const all = new Map(images);
  for (const reference of references) {
    const { tag, digest } = parseReference(reference) ?? {};
    const image = images.get(`${reference}:latest`);
    if (tag === null && digest === null && image !== undefined) all.set(reference, image);
  }
  return all;
}

/** Pulls images that only the new files name, by service. Those of the release are to be proven, too. */
export async function pullAdded(
  context: RunContext,
  { installation: { compose, platform }, moves, expected }: Plan,
  added: ReadonlyMap<string, string>,
  { journal, keepTags, deadline }: Obtaining,
): Promise<Map<string, Image>> {
  if (added.size === 0) return new Map();
  const { engine, options } = context;
  const forms =
    keepTags && options.proof.archive === null
      ? await formsFor(context, added.values())
      : new Map<string, string>();
  await journal?.write({ tags: [...journal.data.tags, ...(await tagsBefore(engine, added.values()))] });
  if (options.proof.archive !== null) {
    const local = await localImages(engine, added.values());
    const isHere = (reference: string) => local.has(reference) && parseReference(reference)?.digest !== null;
    const missing = new Map([...added].filter(([, reference]) => !isHere(reference)));
    await loadAll(context, missing, { expected, platform, deadline });
  } else await pullImages(context, compose, inForms(added, forms), { deadline, platform, percent: false });
  const images = await requireLocal(engine, added.values(), forms);
  const named = new Map([...added].filter(([key, to]) => isProvable(key, to, moves)));
  await requireAllProven(context, named, images, { wanted: added, forms, journal, expected });
  return images;
}

/**
 * Images that services mount (`type: image`), by names of their own: those of the release, and those that are not here.
 * Compose pulls the images of services alone, and `up` would miss them.
 */
export async function mountedImages(
  engine: Engine,
  { services }: Model,
  names: readonly string[],
  moves: readonly Move[],
): Promise<Map<string, string>> {
  const all = names.flatMap((name) =>
    (services[name]?.volumes ?? []).flatMap(({ type, source = '' }, at) =>
      type === 'image' ? [[`${name}.volume${at}`, source] as const] : [],
    ),
  );
  const local = await localImages(engine, new Map(all).values());
  const pulled = moves.filter(({ pull }) => pull);
  return new Map(all.filter(([, source]) => !local.has(source) || isOfRelease(source, pulled)));
}

/** Whether an image, by the key of the service or of its mount, has to be proven. */
export const isProvable = (key: string, to: string, moves: readonly Move[]): boolean =>
  serviceOfKey(key) === key ? moves.some(({ service }) => service === key) : isOfRelease(to, moves);

/** Whether a mounted image has the publisher and the tag of an updated image. */
const isOfRelease = (source: string, moves: readonly Move[]): boolean =>
  moves.some(({ to }) => {
    const [own, moved] = [parseReference(source), parseReference(to)];
    return own && moved && own.tag === moved.tag && isOnePublisher(own, moved);
  });

/**
 * Pulls missing images that are used only by `pre_start` hooks.
 * Compose would not pull them, and would fail after the old container has been removed.
 */
export async function pullHookImages(
  context: RunContext,
  { compose, platform }: Installation,
  { services }: Model,
  { names, deadline }: { names: readonly string[]; deadline: number },
): Promise<void> {
  const { engine, options } = context;
  const wanted = names.flatMap((name) =>
    (services[name]?.pre_start ?? []).flatMap(({ image }) => (image ? [[name, image] as const] : [])),
  );
  const byImage = new Map(wanted.map(([name, image]) => [image, name]));
  const local = await localImages(engine, byImage.keys());
  const missing = new Map([...byImage].filter(([image]) => !local.has(image)));
  for (const [image, name] of missing) {
    if (services[name]?.pull_policy === 'never' || options.proof.archive !== null) continue;
    await pullImages(context, compose, new Map([[name, image]]), { deadline, platform, percent: false });
  }
  await requireLocal(engine, missing.keys());
}

/**
 * Pulls the image of a service once more where it is gone from this machine, as after somebody's `docker image prune`.
 * Gives whether it was gone.
 * @throws UpdateError pull-…; recreate-failed where its reference leads to another image by now
 */
export async function pullWhatIsGone(
  { engine, log, options }: Pick<RunContext, 'engine' | 'log' | 'options'>,
  compose: Compose,
  service: string,
  { reference, ...wanted }: { reference: string } & LocalImage,
): Promise<boolean> {
  if ((await localImages(engine, [reference])).has(reference)) return false;
  log.warn(`${reference} was removed from this machine in the meantime; pulling it again`);
  const deadline = performance.now() + options.limits.pullTimeoutMs;
  await pullImages({ engine, log }, compose, new Map([[service, reference]]), { deadline, percent: false });
  const images = await requireLocal(engine, [reference]);
  if (!isSameImage(wanted, images.get(reference))) {
    throw new UpdateError(
      'recreate-failed',
      `${reference} now points to a different image than the one that was checked`,
    );
  }
  return true;
}

/** @param forms by which reference each is to be looked for, where that is another one */
async function requireLocal(
  engine: Engine,
  references: Iterable<string>,
  forms: ReadonlyMap<string, string> = new Map(),
): Promise<Map<string, Image>> {
  const list = [...new Set(references)].map((each) => [each, forms.get(each) ?? each] as const);
  const found = await localImages(
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
