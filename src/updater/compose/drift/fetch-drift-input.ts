import { findNamespaceContainer, namespaceModeKeys } from '../../../engine/objects/container.ts';
// Collects the facts for drift detection that the dry run (`dry-run.ts`) does not provide. `evaluate-changes.ts`
// evaluates them.

import { lstatSync, realpathSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { shortRepositoryOf } from '../../../core/compose/pins/image-reference.ts';
import { getParsedEnvFile } from '../../../core/compose/variables.ts';
import { readTextFileIfExists, type TextFile } from '../../../core/files/text-file.ts';
import { isWithin } from '../../../core/mounts/host-paths.ts';
import type { Engine } from '../../../engine/cli/engine.ts';
import type {
  ContainerDefinition,
  PrivilegeContext,
} from '../../../engine/comparison/find-gained-privileges.ts';
import { isContainerOfImage } from '../../../engine/comparison/same-image.ts';
import { readContainerFile } from '../../../engine/containers/container-file.ts';
import { listCopiedPaths } from '../../../engine/containers/copied-files.ts';
import { finalNameOf } from '../../../engine/containers/project-containers.ts';
import { canCreateWithAllNetworks } from '../../../engine/http/api-version.ts';
import { requestedMountsOf, toContainer } from '../../../engine/objects/container.ts';
import { type Json, toList, toObject } from '../../../engine/objects/json.ts';
import { composeLabels } from '../../../engine/objects/labels.ts';
import type { Installation } from '../inspect/installation.ts';
import {
  buildPlannedDefinition,
  buildPrivilegeDefinition,
  parseRunningDefinition,
} from './build-definitions.ts';
import type { DriftInput, EditedFileCopy } from './changes.ts';
import { type EngineDefaults, removedContainerName } from './engine-defaults.ts';
import {
  envFilePathsOf,
  findServiceSettingTexts,
  inlineConfigSection,
  isInEnvironment,
  type ServiceSettingPath,
  type VariableResolver,
} from './setting-texts.ts';

/**
 * Reads the engine's defaults from `GET /info` and the updater's own container.
 * @throws UpdateError engine-unavailable
 */
export async function fetchEngineDefaults(engine: Engine, ownId: string): Promise<EngineDefaults> {
  const [[own], info] = await Promise.all([engine.inspectRaw([ownId]), engine.getInfo()]);
  return { ownHostConfig: toObject(own?.HostConfig), engineInfo: info, isPodman: engine.isPodman };
}

/**
 * Fetches the facts about a service that the dry run does not provide.
 * @throws UpdateError engine-unavailable
 */
export async function fetchDriftInput(
  engine: Engine,
  instance: Installation,
  service: DriftInput['service'],
  { setTo, ...known }: { defaults: Promise<EngineDefaults>; setTo: VariableResolver },
): Promise<DriftInput> {
  const { model, project, requests: sent, imagesInUse } = instance;
  const { name, containers } = service;
  const ids = containers.map(({ id }) => id);
  const [defaults, raw, otherImages, copies] = await Promise.all([
    known.defaults,
    engine.inspectRaw(ids),
    findOtherImages(engine, service, model.services[name]?.image),
    findEditedCopies(engine, instance, service, setTo),
  ]);
  const planned = sent.get(name);
  const [body = {}, ...inspected] = await nameSharedContainers(engine, project.name, [
    planned?.body ?? {},
    ...raw,
  ]);
  // Before API version 1.44, compose creates a container with one network, and then connects it to the others.
  const own = Object.keys(model.services[name]?.networks ?? {});
  const moreNetworks =
    planned === undefined || canCreateWithAllNetworks(planned.apiVersion)
      ? []
      : own.map((key) => model.networks?.[key]?.name ?? key);
  const replaced = inspected.map((each) => {
    const now = parseRunningDefinition(each, [name, ...containers.map(finalNameOf)]);
    if (planned === undefined)
      return { now, next: buildPrivilegeDefinition(model, name, String(now.config.User)) };
    const used = imagesInUse.get(String(each.Image));
    // For a multi-platform image, the engine returns only the configuration for its own platform.
    const runs = toContainer(each).platform;
    const image = runs === null || runs === used?.platform ? (used?.config ?? null) : null;
    return {
      now,
      next: buildPlannedDefinition({ ...planned, body }, now, { imageConfig: image, moreNetworks, defaults }),
    };
  });
  const surroundings = await fetchPrivilegeContext(engine, instance, replaced);
  return { service, replaced, surroundings, otherImages, copies };
}

/**
 * Fetches facts about privileges that the definitions do not contain. For example, an existing volume keeps its options
 * even if the model specifies different ones.
 * @throws UpdateError engine-unavailable
 */
export async function fetchPrivilegeContext(
  engine: Engine,
  { paths, project, model }: Pick<Installation, 'paths' | 'project' | 'model'>,
  replaced: readonly { now: ContainerDefinition; next: ContainerDefinition }[],
): Promise<PrivilegeContext> {
  const volumesOf = ({ hostConfig }: ContainerDefinition) =>
    requestedMountsOf(hostConfig).flatMap(({ type, source }) => (type === 'volume' ? [source] : []));
  const known = new Set(replaced.flatMap(({ now }) => volumesOf(now)));
  const requested = replaced.flatMap(({ next }) => volumesOf(next)).filter((name) => !known.has(name));
  const made = await engine.listVolumes([...new Set(requested)]);
  const deployment = realPath(paths.fromHost(project.directory));
  return {
    // Whether the path is in the project directory once symbolic links are resolved.
    isOwn: (path) => {
      const real = realPath(paths.fromHost(path));
      return real !== null && deployment !== null && isWithin(real, deployment);
    },
    volumeOptions: (name) =>
      made.find((volume) => volume.name === name)?.options ??
      toObject(Object.values(model.volumes ?? {}).find((volume) => volume?.name === name)?.driver_opts),
  };
}

/** Resolves the symbolic links in a path, which need not exist. Null if a link's target is not in this container. */
function realPath(here: string | null): string | null {
  if (here === null) return null;
  let there = here;
  while (lstatSync(there, { throwIfNoEntry: false }) === undefined) there = dirname(there);
  try {
    return join(realpathSync(there), relative(there, here));
  } catch {
    return null;
  }
}

/**
 * Returns the image references of a service's containers that differ from the reference in the files. An ID of the same
 * image counts as equal.
 * @throws UpdateError engine-unavailable
 */
async function findOtherImages(
  engine: Engine,
  { containers }: DriftInput['service'],
  inFiles: string | undefined,
): Promise<string[]> {
  const isId = (reference: string) => /^(sha256:)?[0-9a-f]{12,64}$/.test(reference);
  // References are compared in their canonical form, because Podman adds the registry to every image reference.
  const wanted = shortRepositoryOf(inFiles ?? '');
  const others = containers.filter(({ imageReference }) => shortRepositoryOf(imageReference) !== wanted);
  const byId = others.some(({ imageReference }) => isId(imageReference));
  const [named] = byId && inFiles !== undefined ? await engine.inspectImages([inFiles]) : [];
  const differ = others.filter((each) => !(isId(each.imageReference) && isContainerOfImage(each, named)));
  return [...new Set(differ.map(({ imageReference }) => imageReference))];
}

/**
 * Finds configs and secrets whose copy in the container is missing or differs. Those that were removed from the files
 * are not found, because a container does not record which of its files are copies.
 */
async function findEditedCopies(
  engine: Engine,
  { model }: Installation,
  { name, containers: [container] }: DriftInput['service'],
  setTo: VariableResolver,
): Promise<EditedFileCopy[]> {
  const maxBytes = 1024 * 1024;
  const references = (['configs', 'secrets'] as const).flatMap((of) =>
    (model.services[name]?.[of] ?? []).map((reference) => ({ of, reference })),
  );
  const found = references.map(async ({ of, reference }): Promise<EditedFileCopy[]> => {
    const { source } = reference;
    const { content, environment } = model[of]?.[source] ?? {};
    // Compose's model escapes a dollar sign as `$$`.
    const text = content?.replaceAll('$$', '$') ?? (environment ? setTo(environment) : null);
    const [path = ''] = listCopiedPaths({ [of]: [reference] });
    if (!text || container === undefined) return [];
    const file = await readContainerFile(engine, container.id, path, maxBytes);
    if (file === 'missing') return [{ of, source, isNew: true }];
    const isSame = typeof file === 'string' || file.content.toString() === text;
    return isSame ? [] : [{ of, source, isNew: false }];
  });
  return (await Promise.all(found)).flat();
}

/**
 * Replaces the IDs of containers whose namespaces or volumes are used with names: `service:db`, `container:other` for
 * one outside the project, and `container:gone` for a removed one.
 * @throws UpdateError engine-unavailable
 */
async function nameSharedContainers(
  engine: Engine,
  project: string,
  definitions: readonly Json[],
): Promise<Json[]> {
  const hosts = definitions.map(({ HostConfig }) => toObject(HostConfig));
  const requested = hosts.flatMap((host) => [
    ...namespaceModeKeys.flatMap((key) => findNamespaceContainer(host[key]) ?? []),
    ...toList(host.VolumesFrom).map((entry) => String(entry).split(':')[0] ?? ''),
  ]);
  const found = [...new Set(requested)].map(async (container) => {
    const [raw] = await engine.inspectRaw([container]);
    const labels = toObject(toObject(raw?.Config).Labels);
    const isOwn = labels[composeLabels.project] === project;
    const own = isOwn ? `service:${labels[composeLabels.service]}` : null;
    const other =
      raw === undefined ? removedContainerName : `container:${String(raw.Name).replace(/^\//, '')}`;
    return [container, own ?? other] as const;
  });
  const names = new Map(await Promise.all(found));
  const named = (host: Json) =>
    namespaceModeKeys.flatMap((key) => {
      const container = findNamespaceContainer(host[key]);
      return container === null ? [] : [[key, names.get(container)]];
    });
  const from = (entry: unknown) => {
    const [container = '', mode = ''] = String(entry).split(':');
    return `${names.get(container)}${mode === 'ro' ? ' read-only' : ''}`;
  };
  return definitions.map((definition, at) => {
    const host = hosts[at] ?? {};
    const VolumesFrom = toList(host.VolumesFrom).map(from);
    return { ...definition, HostConfig: { ...host, ...Object.fromEntries(named(host)), VolumesFrom } };
  });
}

/**
 * Returns the texts that determine each position's value, with unresolved variables. Compose runs only if a position is
 * not null, which is rare.
 * @throws UpdateError if an env file of a service cannot be read
 */
export async function readServiceSettingTexts(
  { compose, files }: Installation,
  places: readonly { service: string; place: ServiceSettingPath | null }[],
): Promise<string[][]> {
  if (places.every(({ place: location }) => location === null)) return places.map(() => []);
  const written = await compose.readUninterpolatedModel();
  const lines = [...files.composeFiles, ...(files.linkedFiles ?? [])].flatMap(({ text }) => text.split('\n'));
  return Promise.all(
    places.map(async ({ service, place: location }) => {
      if (location === null) return [];
      const { section, item } = location;
      // Compose cannot print some keys, such as `ulimits`, with unresolved variables. Use the lines that contain the
      // item, or all lines if none contains it.
      if (written === null) {
        const about = lines.filter(
          (line) => section !== inlineConfigSection && line.includes(item || section),
        );
        return about.length > 0 ? about : lines;
      }
      if (section !== 'environment' || isInEnvironment(written, service, item))
        return findServiceSettingTexts(written, service, location);
      const envFiles = await Promise.all(envFilePathsOf(written, service).map(readTextFileIfExists));
      return envFiles.flatMap((file) => (file === null ? [] : findAssignedText(file, item)));
    }),
  );
}

/**
 * Returns the text that an env file assigns to a variable; empty if the file does not assign it. A line with only the
 * name passes on the shell's value, so its text is a reference such as `${TAG}`.
 */
function findAssignedText(file: TextFile, key: string): string[] {
  const { assignments, byKey } = getParsedEnvFile(file);
  const last = assignments[byKey.get(key)?.at(-1) ?? -1];
  if (last) return last.quote === "'" ? ["''"] : [`${file.text.slice(last.start, last.end)} `];
  return file.text.split(/\r?\n/).some((line) => line.trim() === key) ? [`\${${key}}`] : [];
}
