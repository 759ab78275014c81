import { homedir } from 'node:os';
import { allEnvFiles } from '../../../compose/project-files.ts';
import { variablesOf } from '../../../compose/variables.ts';
import { finalName } from '../../../engine/api/project-containers.ts';
import { inspectImages, inspectWhole } from '../../../engine/api/query.ts';
import type { Engine } from '../../../engine/cli/engine.ts';
import { type Json, object } from '../../../engine/json.ts';
import { toolLabels } from '../../../engine/labels.ts';
import { runsImage } from '../../../engine/same-image.ts';
import { UpdateError } from '../../../progress/update-error.ts';
import { hintAtEnvAbove } from '../../inspect/env-file-above.ts';
import { type Installation, movedServices, type ServiceFacts } from '../../inspect/installation.ts';
import type { Log } from '../../log/log.ts';
import { plannedDefinition, runningDefinition } from './definition.ts';
import { type EngineDefaults, engineDefaults } from './engine-choices.ts';
import { findCopied } from './find-copied.ts';
import { type Difference, findDifferences } from './find-differences.ts';
import { findUnsetImage, findUnsetSecrets } from './find-unset.ts';
import { adviceFor, type Finding, judgeDifference } from './judge-drift.ts';
import { readWritten, type WrittenProject } from './read-written.ts';
import { shapeOf } from './shape.ts';
import { findShared } from './shared-with.ts';
import { type SetValue, unsetInAll } from './written-text.ts';

/**
 * Holds what `up` would send against every container that would be recreated. What would be lost is refused, unless it
 * is accepted; everything else that would change is a warning.
 * Refusal: drift.
 */
export async function checkDrift(
  { engine, log }: { engine: Engine; log: Log },
  installation: Installation,
  { ownId, accepted }: { ownId: string; accepted: boolean },
): Promise<void> {
  const services = [...movedServices(installation), ...installation.followers];
  for (const { name } of services.filter(({ name: service }) => !installation.sent.has(service))) {
    log.warn(`${name}: its image is gone from this machine: what recreating it would change cannot be told`);
  }
  const inspect = ({ containers }: ServiceFacts) =>
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
          differences: await differencesOf(engine, installation, facts, {
            all: inspected[at] ?? [],
            defaults,
          }),
          others: await otherReferences(engine, facts, installation.model.services[facts.name]?.image),
        },
        written,
      )),
      ...findUnsetSecrets(installation.model, facts.name, setValues(installation)),
      ...(await findCopied(engine, installation, facts, { setTo: setValues(installation), written })),
    ]),
  );
  report(findings.flat(), installation, { accepted, log });
}

/** What recreating the containers of a service would change, each thing once. `all` is what inspection tells of them. */
async function differencesOf(
  engine: Engine,
  { project, model, sent, imagesInUse }: Installation,
  { name, containers }: ServiceFacts,
  { all, defaults }: { all: readonly Json[]; defaults: EngineDefaults },
): Promise<Difference[]> {
  const planned = sent.get(name);
  if (planned === undefined) return [];
  const { networks = {} } = model;
  const own = Object.keys(model.services[name]?.networks ?? {});
  const later = tellsAllNetworks(planned.apiVersion) ? [] : own.map((key) => networks[key]?.name ?? key);
  const hosts = [planned.body, ...all].map(({ HostConfig }) => object(HostConfig));
  const named = await findShared(engine, project.name, hosts);
  const sentNow = {
    ...planned,
    body: { ...planned.body, HostConfig: named(object(planned.body.HostConfig)) },
  };
  const found = all.map((raw) => {
    const inspected = { ...raw, HostConfig: named(object(raw.HostConfig)) };
    const running = runningDefinition(inspected, [name, ...containers.map(finalName)]);
    const image = imagesInUse.get(String(raw.Image))?.config ?? null;
    const then = plannedDefinition(sentNow, running, { image, moreNetworks: later, defaults });
    return findDifferences(shapeOf(running, toolLabels), shapeOf(then, toolLabels));
  });
  return [...new Map(found.flat().map((each) => [JSON.stringify(each), each])).values()];
}

/** Before 1.44, compose joins a container to all networks but the first once it is made. */
function tellsAllNetworks(apiVersion: string): boolean {
  const [major = 0, minor = 0] = apiVersion.split('.').map(Number);
  return major > 1 || (major === 1 && minor >= 44);
}

async function findLosses(
  installation: Installation,
  { name }: ServiceFacts,
  { differences, others }: { differences: readonly Difference[]; others: readonly string[] },
  askWritten: () => Promise<WrittenProject>,
): Promise<Finding[]> {
  const inFiles = installation.model.services[name]?.image;
  if (differences.length + others.length === 0) return [];
  const setTo = setValues(installation);
  const written = await askWritten();
  const judged = differences.map(async (difference) => {
    const texts = await written.textsOf(name, difference);
    const unset = unsetInAll(texts, setTo);
    return judgeDifference(name, difference, { unset, texts, home: homedir() });
  });
  const texts = await written.textsOf(name, { section: 'image', item: '' });
  const place = movedServices(installation).find((each) => each.name === name)?.pin.place;
  const byDefault = place?.kind === 'default' ? place.variable : undefined;
  return [
    ...(await Promise.all(judged)),
    ...others.flatMap((running) => findUnsetImage(name, { running, inFiles, texts, byDefault }, setTo)),
  ];
}

/** A container that was made again from its image's id has no other reference. */
const isId = /^(sha256:)?[0-9a-f]{12,64}$/;

/** What the containers are made from by another reference than the files'; an id is none where both lead to one image. */
async function otherReferences(
  engine: Engine,
  { containers }: ServiceFacts,
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
function setValues({ files, project }: Installation): SetValue {
  const variables = variablesOf(allEnvFiles(files));
  return (variable) =>
    variables(variable)?.text ?? (variable === 'COMPOSE_PROJECT_NAME' ? project.name : null);
}

function report(
  findings: readonly Finding[],
  { files, project, paths }: Installation,
  { accepted, log }: { accepted: boolean; log: Log },
): void {
  const told = (kind: boolean) =>
    new Set(findings.flatMap(({ isLoss, sentence }) => (isLoss === kind ? [sentence] : [])));
  for (const sentence of told(false)) {
    log.warn(`${sentence}: the files say something else by now, and that is what it gets`);
  }
  const losses = findings.filter(({ isLoss }) => isLoss);
  if (losses.length === 0) return;
  if (!accepted) {
    throw new UpdateError('drift', 'recreating would take from the instance what its files no longer say', {
      detail: [...told(true)],
      advice: adviceFor(
        losses.map(({ remedy }) => remedy),
        { envFile: files.newEnvFile, above: hintAtEnvAbove(project, paths) },
      ),
    });
  }
  for (const sentence of told(true)) log.warn(`accepted: ${sentence}`);
}
