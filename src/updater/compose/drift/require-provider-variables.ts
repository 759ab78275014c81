import { formatTagLocations } from '../../../core/compose/pins/pin.ts';
import { UpdateError } from '../../../core/errors/update-error.ts';
import { isNumberedTag } from '../../../core/release/pin-tag.ts';
import type { ComposeModel } from '../../../engine/cli/compose.ts';
import { joinWithAnd } from '../../run/log/format-values.ts';
import type { InstalledService } from '../inspect/installation.ts';
import type { ChangeWithSettingTexts } from './changes.ts';

/**
 * Rejects an update that would lose variables set by provider services (`provider:`). With `--no-deps`, compose does
 * not run provider programs on the host. Variables that certainly come from a provider are required even if drift is
 * accepted.
 * @param planned - the image references that the update installs, keyed by service
 * @throws UpdateError drift
 */
export function requireProviderVariables(
  { model, services }: { model: ComposeModel; services: readonly InstalledService[] },
  changes: readonly ChangeWithSettingTexts[],
  { planned, accepted }: { planned: ReadonlyMap<string, string>; accepted: boolean },
): void {
  const lost = changes.flatMap(([change, texts]) => {
    if (change.kind !== 'difference' || change.difference.section !== 'environment') return [];
    const { item, running, planned: next } = change.difference;
    const needed = Object.keys(model.services[change.service]?.depends_on ?? {});
    const providers = needed.filter((name) => model.services[name]?.provider !== undefined);
    const hasPrefix = providers.some((name) => item.startsWith(`${name.toUpperCase()}_`));
    const isProvided = hasPrefix && next === null;
    // A provider can set any variable, even one without the provider's prefix or one that the files set.
    const mayBe = !accepted && (hasPrefix || (next === null && texts.length === 0));
    if (running === null || providers.length === 0 || !(isProvided || mayBe)) return [];
    const by = `${change.service}: provider ${joinWithAnd(providers)} ${isProvided ? 'sets' : 'may set'}`;
    return [{ by, item, isProvided }];
  });
  const sentences = [...Map.groupBy(lost, ({ by }) => by)].map(([by, items]) => {
    const names = [...new Set(items.map(({ item }) => item))];
    return `${by} ${joinWithAnd(names)}; the updater cannot run providers, so the new container would lose these values`;
  });
  const [first, ...others] = sentences;
  if (first === undefined) return;
  const names = services.map(({ name }) => name).join(' ');
  const pins = services.flatMap(({ pin }) => (pin && isNumberedTag(pin.tag) ? [pin] : []));
  const isDone = services.every(
    ({ name, pin, containers }) =>
      !pin ||
      (pin.tag.kind === 'release' &&
        containers.every(({ imageReference }) => imageReference === planned.get(name))),
  );
  if (isDone) {
    const message = 'the target is already running, but its containers cannot be recreated';
    throw new UpdateError('drift', message, { detail: sentences, advice: 'No update is necessary.' });
  }
  const set =
    pins.length > 0 ? `Set the new version manually (${formatTagLocations(pins)}), then run` : 'Run';
  const isSure = lost.some(({ isProvided }) => isProvided);
  const accept = isSure ? '' : ' If no provider sets these variables, use --accept-drift.';
  throw new UpdateError('drift', first, {
    detail: others,
    advice: `${set} {compose} pull ${names} && {compose} up -d ${names} on the host, where the provider is installed.${accept}`,
  });
}
