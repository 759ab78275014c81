import { UpdateError } from '../../../core/errors/update-error.ts';
import { escapeUnprintable, mapTexts } from '../../../core/text/plain-text.ts';
import { type AttachedResult, runAttached } from '../../../engine/cli/run-attached.ts';
import { isContainerOfImage } from '../../../engine/comparison/same-image.ts';
import { createHelperContainer, removeHelperContainer } from '../../../engine/containers/helper-container.ts';
import { withHeartbeat } from '../../run/log/heartbeat.ts';
import { secretsOfBody } from '../../run/log/mask-rules.ts';
import type { RunContext } from '../../run/run-context.ts';
import type { PreparedPlan } from '../plan/prepared-plan.ts';
import { buildPreflightContainer, evaluatePreflight } from '../plan/release/preflight.ts';
import { releaseCommand } from '../plan/release/release-label.ts';

const limitMs = 60_000;
const longestText = 500;
const logLevels = { pass: 'info', warn: 'warn', fail: 'error' } as const;

/**
 * Runs the release's preflight command (docs/contract.md 2.27) if the image is on this machine. Skips the command if
 * the image is already installed and no file changes.
 * @throws UpdateError preflight-failed, engine-unavailable; Cancelled
 */
export async function runPreflight({ engine, log }: RunContext, plan: PreparedPlan): Promise<void> {
  const { app, installation, images, changes } = plan;
  const image = images.get(app.to);
  const command = releaseCommand(plan, image, 'preflight');
  const isInstalled = installation.app.containers.every((each) => isContainerOfImage(each, image));
  if (image === undefined || command === null || (isInstalled && changes.length === 0)) return;
  const container = buildPreflightContainer(plan, image, command);
  log.addMaskRules(() => ({ secrets: secretsOfBody(container.config) }));
  log.info(`running the preflight command of ${plan.to}`);
  const end = await withHeartbeat(log, 'waiting for the preflight command', run());
  const shown = (text: string) => escapeUnprintable(log.masked(text)).slice(0, longestText);
  const { rows, failure } = evaluatePreflight(end);
  for (const { level, text } of rows) log[logLevels[level]](shown(text));
  if (failure !== null)
    throw new UpdateError('preflight-failed', shown(failure.message), mapTexts(failure, shown));

  async function run(): Promise<AttachedResult> {
    const id = await createHelperContainer(engine, image?.id ?? '', installation.project.name, container);
    if (id === null) throw new UpdateError('engine-unavailable', `${app.to} was removed`);
    try {
      for (const network of container.moreNetworks) await engine.connectNetwork(network, id, {});
      const asked = ['start', '--attach', id];
      return await runAttached(engine, asked, limitMs);
    } finally {
      await removeHelperContainer(engine.uncancellable(), id).catch(() => {});
    }
  }
}
