import { homedir } from 'node:os';
import { allEnvFiles } from '../../compose/project-files.ts';
import { variablesOf } from '../../compose/variables.ts';
import { finalName } from '../../engine/api/project-containers.ts';
import { inspectImages, inspectWhole } from '../../engine/api/query.ts';
import type { Engine } from '../../engine/cli/engine.ts';
import type { Container } from '../../engine/container.ts';
import { type Json, object } from '../../engine/json.ts';
import { toolLabels } from '../../engine/labels.ts';
import type { Right } from '../../engine/rights.ts';
import { runsImage } from '../../engine/same-image.ts';
import { composeCommand } from '../../progress/compose-command.ts';
import { UpdateError } from '../../progress/update-error.ts';
import type { Log } from '../log/log.ts';
import { and } from '../log/wording.ts';
import { plannedDefinition, runningDefinition } from './definition.ts';
import type { InstanceFacts, ServiceContainers } from './dry-run.ts';
import { type EngineDefaults, engineDefaults } from './engine-choices.ts';
import { findCopied } from './find-copied.ts';
import { type Difference, findDifferences } from './find-differences.ts';
import { definedByModel, findGains } from './find-gains.ts';
import { findUnsetImage, findUnsetSecrets } from './find-unset.ts';
import { adviceFor, type Finding, judgeDifference, judgeGain } from './judge-drift.ts';
import { readWritten, type WrittenProject } from './read-written.ts';
import { shapeOf } from './shape.ts';
import { findShared } from './shared-with.ts';
import { type SetValue, unsetIn } from './written-text.ts';

/**
 * Holds what `up` would send against every container that would be recreated. What would be lost is refused, and so is
 * what would be gained over the host, unless it is accepted; everything else that would change is a warning.
 * Refusals: network-edited, drift.
 */
export async function checkDrift(
  { engine, log }: { engine: Engine; log: Log },
  installation: InstanceFacts,
  { ownId, accepted, above }: { ownId: string; accepted: boolean; above: string | null },
): Promise<void> {
  checkDefinitions(installation, log);
  const services = installation.services.filter(({ containers }) => containers.length > 0);
  for (const { name } of services.filter(({ name: service }) => !installation.sent.has(service))) {
    log.warn(`${name}: its image is gone from this machine: what recreating it would change cannot be told`);
  }
  const inspect = ({ containers }: ServiceContainers) =>
    inspectWhole(
      engine,
      containers.map(({ id }) => id),
    );
  const [defaults, inspected] = await Promise.all([
    engineDefaults(engine, ownId),
    Promise.all(services.map(inspect)),
  ]);
  // Most runs need not ask; one question serves all services.
  let asked: Promise<WrittenProject> | null = null;
  const written = () => {
    asked ??= readWritten(installation);
    return asked;
  };
  const findings = await Promise.all(
    services.map(async (facts, at) => [
      ...(await findLosses(
        installation,
        facts,
        {
          ...(await changesOf(engine, installation, facts, { all: inspected[at] ?? [], defaults })),
          others: await otherReferences(engine, facts, installation.model.services[facts.name]?.image),
        },
        written,
      )),
      ...findUnsetSecrets(installation.model, facts.name, setValues(installation)),
      ...(await findCopied(engine, installation, facts, { setTo: setValues(installation), written })),
    ]),
  );
  report(findings.flat(), installation, { accepted, above, log });
}

/**
 * Holds the definitions of networks and volumes against those that the engine's were made from (docs/contract.md 4.7), by
 * what compose would do: it knows an edited one by the hash in its label, where it made it with one. It would take the
 * containers off an edited network, also one that only a dependency is on, and then fail to remove it for the others there.
 * Refusal: network-edited. No option accepts it.
 */
export function checkDefinitions(
  { removedNetworks, editedVolumes, services, containers, model, project }: InstanceFacts,
  log: Pick<Log, 'warn'>,
): void {
  const used = services.flatMap(({ name }) => model.services[name]?.volumes ?? []);
  const isUsed = (volume: string) =>
    used.some(({ type, source = '' }) => type === 'volume' && model.volumes?.[source]?.name === volume);
  for (const name of [...editedVolumes].filter(isUsed).sort()) {
    log.warn(`volume ${name} was made from another definition than the files have now: it stays as it is`);
  }
  const hasOn = (network: string, some: readonly Container[]) =>
    some.some(({ networks }) => networks.includes(network));
  const usersOf = (network: string) =>
    services.filter(
      ({ name, containers: own }) =>
        hasOn(network, own) ||
        Object.keys(model.services[name]?.networks ?? {}).some(
          (key) => model.networks?.[key]?.name === network,
        ),
    );
  const edited = [...removedNetworks]
    .filter((network) => hasOn(network, containers) || usersOf(network).length > 0)
    .sort();
  if (edited.length === 0) return;
  const users = edited.flatMap(usersOf);
  const names = (users.length > 0 ? users : services).map(({ name }) => name);
  const compose = composeCommand(project);
  throw new UpdateError(
    'network-edited',
    `${and(edited.map((name) => `network ${name}`))} ${edited.length > 1 ? 'were' : 'was'} edited in the files since the instance was started: replacing ${and([...new Set(names)])} would take the instance off it`,
    {
      advice: `Apply the edit with ${compose} up -d; where that sees nothing to do, with ${compose} down and ${compose} up -d. Then run the update again.`,
    },
  );
}

/** What recreating the containers of a service would do to them. */
interface Changes {
  differences: readonly Difference[];
  gains: readonly Right[];
}

/** What recreating the containers of a service would change, each thing once. `all` is what inspection tells of them. */
async function changesOf(
  engine: Engine,
  installation: InstanceFacts,
  { name, containers }: ServiceContainers,
  { all, defaults }: { all: readonly Json[]; defaults: EngineDefaults },
): Promise<Changes> {
  const { project, model, sent, imagesInUse } = installation;
  const planned = sent.get(name);
  const { networks = {} } = model;
  const own = Object.keys(model.services[name]?.networks ?? {});
  const joinsAll = planned === undefined || tellsAllNetworks(planned.apiVersion);
  const later = joinsAll ? [] : own.map((key) => networks[key]?.name ?? key);
  const hosts = [planned?.body ?? {}, ...all].map(({ HostConfig }) => object(HostConfig));
  const named = await findShared(engine, project.name, hosts);
  const replaced = all.map((raw) => {
    const inspected = { ...raw, HostConfig: named(object(raw.HostConfig)) };
    const now = runningDefinition(inspected, [name, ...containers.map(finalName)]);
    // Of one whose image is gone only the files tell.
    if (planned === undefined)
      return { now, next: definedByModel(model, name, String(now.config.User)), differences: [] };
    const body = { ...planned.body, HostConfig: named(object(planned.body.HostConfig)) };
    const image = imagesInUse.get(String(raw.Image))?.config ?? null;
    const next = plannedDefinition({ ...planned, body }, now, { image, moreNetworks: later, defaults });
    return { now, next, differences: findDifferences(shapeOf(now, toolLabels), shapeOf(next, toolLabels)) };
  });
  const found = replaced.flatMap(({ differences }) => differences);
  return {
    differences: [...new Map(found.map((each) => [JSON.stringify(each), each])).values()],
    gains: await findGains(engine, installation, model, replaced),
  };
}

/** Before 1.44, compose joins a container to all networks but the first once it is made. */
function tellsAllNetworks(apiVersion: string): boolean {
  const [major = 0, minor = 0] = apiVersion.split('.').map(Number);
  return major > 1 || (major === 1 && minor >= 44);
}

async function findLosses(
  installation: InstanceFacts,
  { name }: ServiceContainers,
  { differences, gains, others }: Changes & { others: readonly string[] },
  askWritten: () => Promise<WrittenProject>,
): Promise<Finding[]> {
  const inFiles = installation.model.services[name]?.image;
  if (differences.length + gains.length + others.length === 0) return [];
  const setTo = setValues(installation);
  const written = await askWritten();
  const factsOf = async (place: Pick<Difference, 'section' | 'item'>) => {
    const texts = await written.textsOf(name, place);
    return { unset: unsetIn(texts, setTo), texts, home: homedir() };
  };
  const judged = await Promise.all(
    differences.map(async (each) => ({ ...each, ...judgeDifference(name, each, await factsOf(each)) })),
  );
  // What is lost in a place says what comes there; a mere change there is told as the right that it gives.
  const isIn =
    (place: Pick<Difference, 'section' | 'item'>) => (other: Pick<Difference, 'section' | 'item'>) =>
      place.section === other.section && place.item === other.item;
  const losses = judged.filter(({ isLoss }) => isLoss);
  const told = gains.filter((gain) => !losses.some(isIn(gain)));
  const texts = await written.textsOf(name, { section: 'image', item: '' });
  const place = installation.services.find((each) => each.name === name)?.pin?.place;
  const byDefault = place?.kind === 'default' ? place.variable : undefined;
  return [
    ...judged.filter((each) => each.isLoss || !told.some(isIn(each))),
    ...(await Promise.all(told.map(async (gain) => judgeGain(name, gain, await factsOf(gain))))),
    ...others.flatMap((running) => findUnsetImage(name, { running, inFiles, texts, byDefault }, setTo)),
  ];
}

/** A container that was made again from its image's id has no other reference. */
const isId = /^(sha256:)?[0-9a-f]{12,64}$/;

/** What the containers are made from by another reference than the files'; an id is none where both lead to one image. */
async function otherReferences(
  engine: Engine,
  { containers }: ServiceContainers,
  inFiles: string | undefined,
): Promise<string[]> {
  const others = containers.filter(({ imageReference }) => imageReference !== inFiles);
  const byId = others.some(({ imageReference }) => isId.test(imageReference));
  const [named] = byId && inFiles !== undefined ? await inspectImages(engine, [inFiles]) : [];
  const differ = others.filter(
    (container) => !(isId.test(container.imageReference) && runsImage(container, named)),
  );
  return [...new Set(differ.map(({ imageReference }) => imageReference))];
}

/** As the files set them; compose itself sets the project's name. */
function setValues({ files, project }: InstanceFacts): SetValue {
  const variables = variablesOf(allEnvFiles(files));
  return (variable) =>
    variables(variable)?.text ?? (variable === 'COMPOSE_PROJECT_NAME' ? project.name : null);
}

function report(
  findings: readonly Finding[],
  { files }: InstanceFacts,
  { accepted, above, log }: { accepted: boolean; above: string | null; log: Log },
): void {
  const told = (kind: boolean) =>
    new Set(findings.flatMap(({ isLoss, sentence }) => (isLoss === kind ? [sentence] : [])));
  for (const sentence of told(false)) {
    log.warn(`${sentence}: the files say something else by now, and that is what it gets`);
  }
  const losses = findings.filter(({ isLoss }) => isLoss);
  if (losses.length === 0) return;
  if (!accepted) {
    const gives = losses.some(({ remedy }) => remedy.kind === 'rights');
    const takes = losses.some(({ remedy }) => remedy.kind !== 'rights');
    const what = [
      ...(takes ? ['take from the instance what its files no longer say'] : []),
      ...(gives ? ['give the instance rights over this machine that it has not now'] : []),
    ];
    throw new UpdateError('drift', `recreating would ${and(what)}`, {
      detail: [...told(true)],
      advice: adviceFor(
        losses.map(({ remedy }) => remedy),
        { envFile: files.newEnvFile, above },
      ),
    });
  }
  for (const sentence of told(true)) log.warn(`accepted: ${sentence}`);
}
