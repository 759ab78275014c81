import { UpdateError } from '../../../core/errors/update-error.ts';
import { escapeUnprintable, mapJsonStrings } from '../../../core/text/plain-text.ts';
import { type AttachedCommandResult, runAttachedCommand } from '../../../engine/cli/run-attached-command.ts';
import { isContainerOfImage } from '../../../engine/comparison/same-image.ts';
import { createHelperContainer, removeHelperContainer } from '../../../engine/containers/helper-container.ts';
import { awaitWithHeartbeat } from '../../run/log/heartbeat.ts';
import { environmentSecretsOf } from '../../run/log/mask-rules.ts';
import type { RunContext } from '../../run/run-context.ts';
import type { PreparedPlan } from '../plan/prepared-plan.ts';
import { createPreflightContainerSpec, evaluatePreflightResult } from '../plan/release/preflight.ts';
import { findReleaseCommand } from '../plan/release/release-label.ts';

const limitMs = 60_000;
const longestText = 500;
const logLevels = { pass: 'info', warn: 'warn', fail: 'error' } as const;

/**
 * Runs the release's preflight command if its image is on this machine (docs/contract.md 2.27). The command is skipped
 * if the image is already installed and no file changes.
 * @throws UpdateError preflight-failed, engine-unavailable; CancelledError
 */
export async function runPreflight({ engine, log }: RunContext, plan: PreparedPlan): Promise<void> {
  const { app, installation, images, changes } = plan;
  const image = images.get(app.to);
  const command = findReleaseCommand(plan, image, 'preflight');
  const isInstalled = installation.app.containers.every((each) => isContainerOfImage(each, image));
  if (image === undefined || command === null || (isInstalled && changes.length === 0)) return;
  const container = createPreflightContainerSpec(plan, image, command);
  log.addMaskRules(() => ({ secrets: environmentSecretsOf(container.config) }));
  log.info(`running the preflight command of ${plan.to}`);
  const end = await awaitWithHeartbeat(log, 'waiting for the preflight command', run());
  const shown = (text: string) => escapeUnprintable(log.maskText(text)).slice(0, longestText);
  const { rows, failure } = evaluatePreflightResult(end);
  for (const { level, text } of rows) log[logLevels[level]](shown(text));
  if (failure !== null)
    throw new UpdateError('preflight-failed', shown(failure.message), mapJsonStrings(failure, shown));

  async function run(): Promise<AttachedCommandResult> {
    const id = await createHelperContainer(engine, image?.id ?? '', installation.project.name, container);
    if (id === null) throw new UpdateError('engine-unavailable', `${app.to} was removed`);
    try {
      for (const network of container.moreNetworks) await engine.connectNetwork(network, id, {});
      const requested = ['start', '--attach', id];
      return await runAttachedCommand(engine, requested, limitMs);
    } finally {
      await removeHelperContainer(engine.uncancellable(), id).catch(() => {});
    }
  }
}
