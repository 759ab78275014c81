// Drift: the files have changed since the containers were created. They were edited without an `up`, or a shell set
// variables that no file sets. The update would then replace a working container with an untested one.
//
// For each container to be replaced, two definitions are compared: the one that the engine reports, and the one that
// compose would request for the current files. Defaults of the image and the engine complete the second definition.
// To obtain the request, compose runs `up` against a recorder (inspect/dry-run.ts), which creates nothing.
//
// Both definitions are converted to one format (find-differences.ts). Then their differences are classified
// (changes.ts, evaluate-changes.ts; docs/contract.md 4.2, 4.9). Losses and additional privileges on the host are
// refused unless drift is accepted. All other differences are warnings. The texts in the files (setting-texts.ts) show
// which variables only a shell can have set.
//
// The requests also show which networks and volumes were edited (docs/contract.md 4.7). Compose would remove an
// edited network.
//
// Not checked: containers that are not updated, and changes made by programs inside containers.

import { homedir } from 'node:os';
import { listEnvFiles } from '../../../core/compose/project-files.ts';
import { createVariableLookup } from '../../../core/compose/variables.ts';
import { UpdateError } from '../../../core/errors/update-error.ts';
import type { ComposeModel } from '../../../engine/cli/compose.ts';
import type { Engine } from '../../../engine/cli/engine.ts';
import { findGainedPrivileges } from '../../../engine/comparison/find-gained-privileges.ts';
import type { Log } from '../../run/log/run-log.ts';
import { type Installation, replacedServicesOf } from '../inspect/installation.ts';
import { buildPrivilegeDefinition } from './build-definitions.ts';
import { listDriftChanges, settingPathOf } from './changes.ts';
import { checkNetworkAndVolumeDrift } from './check-network-and-volume-drift.ts';
import {
  type DriftFinding,
  evaluateDriftChanges,
  formatDriftAdvice,
  formatEditWarnings,
} from './evaluate-changes.ts';
import {
  fetchDriftInput,
  fetchEngineDefaults,
  fetchPrivilegeContext,
  readServiceSettingTexts,
} from './fetch-drift-input.ts';
import { requireProviderVariables } from './require-provider-variables.ts';
import type { VariableResolver } from './setting-texts.ts';

/**
 * Compares the running containers with those that `up` would create. Refuses losses and additional host privileges
 * unless drift is accepted. Other changes are warnings.
 * @param ownId - ID of the updater's own container
 * @param planned - image references that the update installs, keyed by service
 * @throws UpdateError network-edited, drift
 */
export async function checkDrift(
  { engine, log }: { engine: Engine; log: Log },
  instance: Installation,
  { ownId, accepted, planned }: { ownId: string; accepted: boolean; planned: ReadonlyMap<string, string> },
): Promise<void> {
  checkNetworkAndVolumeDrift(instance, log);
  const services = replacedServicesOf(instance).filter(({ containers }) => containers.length > 0);
  for (const { name } of services.filter((service) => !instance.requests.has(service.name))) {
    log.warn(
      `${name}: its image is no longer on this machine, so the updater cannot determine what recreating its containers would change`,
    );
  }
  const setTo = createFileVariableLookup(instance);
  const known = { defaults: fetchEngineDefaults(engine, ownId), setTo };
  const facts = await Promise.all(
    services.map((service) => fetchDriftInput(engine, instance, service, known)),
  );
  const changes = facts.flatMap((each) => listDriftChanges(instance.model, each, setTo));
  const places = changes.map((change) => ({ service: change.service, place: settingPathOf(change) }));
  const texts = await readServiceSettingTexts(instance, places);
  const written = changes.map((change, at) => [change, texts[at] ?? []] as const);
  requireProviderVariables({ model: instance.model, services: replacedServicesOf(instance) }, written, {
    planned,
    accepted,
  });
  const findings = evaluateDriftChanges(written, { setTo, home: homedir() });
  reportFindings(findings, { accepted, log }, instance.files.newEnvFile);
}

/**
 * Creates a function that resolves the variables that the files set, and `COMPOSE_PROJECT_NAME`, which compose sets.
 */
function createFileVariableLookup({ files, project }: Installation): VariableResolver {
  const variables = createVariableLookup(listEnvFiles(files));
  return (variable) =>
    variables(variable)?.text ?? (variable === 'COMPOSE_PROJECT_NAME' ? project.name : null);
}

function reportFindings(
  findings: readonly DriftFinding[],
  { accepted, log }: { accepted: boolean; log: Log },
  envFile: string,
): void {
  for (const warning of formatEditWarnings(findings)) log.warn(warning);
  const losses = findings.flatMap((finding) => (finding.isLoss ? [finding] : []));
  const detail = [...new Set(losses.map(({ sentence }) => sentence))];
  if (accepted) for (const sentence of detail) log.warn(`accepted: ${sentence}`);
  if (accepted || detail.length === 0) return;
  const remedies = losses.map(({ remedy }) => remedy);
  const rights = remedies.filter(({ kind }) => kind === 'rights');
  const message =
    rights.length === 0
      ? 'recreating the containers would remove settings that the files do not contain'
      : rights.length === remedies.length
        ? 'recreating the containers would give them more privileges on this host'
        : 'recreating the containers would remove settings that the files do not contain and give the containers more privileges on this host';
  const advice = formatDriftAdvice(remedies, envFile);
  throw new UpdateError('drift', message, { detail, advice });
}

/**
 * Returns a sentence for each service that gains privileges from a generated installation's new files.
 * @throws UpdateError engine-unavailable
 */
export async function describePrivilegeGains(
  engine: Engine,
  instance: Installation,
  { model, added }: { model: ComposeModel; added: readonly string[] },
): Promise<string[]> {
  const replaced = replacedServicesOf(instance).map(({ name, containers }) => ({
    name,
    image: containers[0]?.imageId,
  }));
  const services = [...replaced, ...added.map((name) => ({ name, image: undefined }))];
  const sentences = services.map(async ({ name, image: id }) => {
    const image = instance.imagesInUse.get(id ?? '');
    const defined = (of: ComposeModel) =>
      buildPrivilegeDefinition(of, name, String(image?.config?.User ?? ''));
    const [now, next] = [defined(instance.model), defined(model)];
    const surroundings = await fetchPrivilegeContext(engine, { ...instance, model }, [{ now, next }]);
    const gains = findGainedPrivileges(now, next, surroundings);
    const names = [...new Set(gains.map((gain) => gain.name))];
    return names.length === 0 ? [] : [`the release gives ${name} new privileges: ${names.join('; ')}`];
  });
  return (await Promise.all(sentences)).flat();
}
