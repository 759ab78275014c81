import { isUp } from '../../engine/container.ts';
import type { EngineSocket } from '../../engine/socket.ts';
import type { Settings } from '../contract/options.ts';
import type { Home } from '../place/home.ts';
import { asideName, isAbout } from '../place/updater-container.ts';

/** Stops the prefetch when an update starts. The update pulls what is missing. */
export async function endPrefetch(engine: EngineSocket, settings: Settings, home: Home): Promise<void> {
  if (settings.prefetch === false) return;
  const found = await engine.inspect(asideName('prefetch', settings, home));
  if (found !== null && isAbout(found, home) && isUp(found)) await engine.kill(found.id, 'SIGTERM');
}
