import { hasTemporaryName, isHook } from '../../engine/api/project-containers.ts';
import { isUp } from '../../engine/container.ts';
import { findForeign } from '../../engine/foreign-containers.ts';
import { composeLabels } from '../../engine/labels.ts';
import type { EngineSocket } from '../../engine/socket.ts';
import type { Reason } from '../../wire/status.ts';
import type { Settings } from '../contract/options.ts';
import type { Home } from './home.ts';

/** Why no update may meet the project's containers as they are; null where all seem to be the instance's. */
export async function foreignReason(
  engine: EngineSocket,
  { containerId, project, directory, claim, service }: Home,
  { app }: Pick<Settings, 'app'>,
): Promise<Reason | null> {
  const listed = await engine.list({ label: [`${composeLabels.project}=${project}`] });
  const containers = listed.filter(
    (each) =>
      each.labels[composeLabels.oneOff] !== 'True' &&
      !isHook(each) &&
      // What a compose call has made and not started yet, or was killed over.
      (isUp(each) || !hasTemporaryName(each)),
  );
  const foreign = findForeign(containers, {
    project,
    directory,
    app: app ?? service,
    claims: new Set([claim]),
    serverId: containerId,
    isHalfReplaced: false,
  });
  return foreign && { code: 'foreign-container', message: `${foreign.message}. ${foreign.advice}` };
}
