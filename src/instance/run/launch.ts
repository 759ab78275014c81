import { parseReference } from '../../compose/reference.ts';
import { EngineFault } from '../../engine/http/fault.ts';
import { classifyPullFailure } from '../../engine/pull-failure.ts';
import type { EngineSocket } from '../../engine/socket.ts';
import type { Settings } from '../contract/options.ts';
import type { Home } from '../place/home.ts';
import { loginFor } from '../place/registry-login.ts';
import { isAbout, isUnderWay, updaterContainer } from '../place/updater-container.ts';
import type { RunRecord } from './run-record.ts';

/** The updater could not be launched; nothing of the instance was touched. */
export class LaunchFailure extends Error {
  override readonly name = 'LaunchFailure';
}

/** What is updated, and to what. */
interface LaunchGoal {
  home: Home;
  /** `v1.5.0` or `canary` */
  target: string;
}

/**
 * Pulls the updater's image, clears its name and starts it. Gives the container's id.
 * @throws LaunchFailure with a sentence for people; EngineFault
 */
export async function launch(
  engine: EngineSocket,
  settings: Settings,
  { home, target }: LaunchGoal,
  { record, signal }: { record: RunRecord; signal: AbortSignal },
): Promise<string> {
  await obtainImage(engine, settings, record, signal);
  const services = await chooseServices(engine, home, settings);
  signal.throwIfAborted();
  record.launching('starting the updater');
  await clearName(engine, home, settings.containerName);
  const spec = updaterContainer(home, {
    name: settings.containerName,
    image: settings.updaterImage,
    target,
    services,
    environment: settings.updaterEnvironment,
    origin: record.run,
  });
  const id = await engine.create(spec).catch((error) => {
    throw error instanceof EngineFault && error.status === 409
      ? new LaunchFailure('another updater was started at the same moment', { cause: error })
      : error;
  });
  try {
    await engine.start(id);
  } catch (error) {
    // A container that never ran is removed, as it is no remains of a run, and must not be started later without a hold.
    await engine.remove(id, { force: true }).catch(() => {});
    throw error;
  }
  return id;
}

async function obtainImage(
  engine: EngineSocket,
  { updaterImage, updaterPull, registryCredentials }: Settings,
  record: RunRecord,
  signal: AbortSignal,
): Promise<void> {
  const reference = parseReference(updaterImage);
  if (reference === null) throw new LaunchFailure(`${updaterImage} is no image reference`);
  const { repository, tag, digest } = reference;
  // The image behind a digest never changes.
  if ((updaterPull === 'missing' || digest !== null) && (await engine.image(updaterImage)) !== null) return;
  record.launching(`pulling ${updaterImage}`);
  const login = await loginFor(repository, registryCredentials);
  try {
    const wanted = { repository, tag: digest ?? tag ?? 'latest' };
    await engine.pull(
      wanted,
      login,
      ({ percent }) => record.launching(`pulling ${updaterImage}`, percent),
      signal,
    );
  } catch (error) {
    if (!(error instanceof EngineFault)) throw error;
    throw new LaunchFailure(
      `the updater's image ${updaterImage} cannot be pulled: ${classifyPullFailure(error.message).sentence}`,
      { cause: error },
    );
  }
}

/** Null where the updater's own default is right: `app`, and `worker` where there is one. */
async function chooseServices(
  engine: EngineSocket,
  { project, service }: Home,
  { workers }: Settings,
): Promise<string[] | null> {
  if (workers !== null) return [service, ...workers];
  if (service === 'app') return null;
  return (await engine.hasService(project, 'worker')) ? [service, 'worker'] : [service];
}

/** Another instance's updater is never removed: its name is given to ours, and it keeps its log under another. */
async function clearName(engine: EngineSocket, home: Home, name: string): Promise<void> {
  const found = await engine.inspect(name);
  if (found === null) return;
  if (isUnderWay(found)) throw new LaunchFailure('another updater was started at the same moment');
  if (isAbout(found, home)) await engine.remove(found.id);
  else await engine.rename(found.id, `${name}-${found.id.slice(0, 12)}`);
}
