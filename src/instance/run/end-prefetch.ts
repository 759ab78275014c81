import { isUp } from '../../engine/container.ts';
import type { EngineSocket } from '../../engine/socket.ts';
import type { Settings } from '../contract/options.ts';
import type { Home } from '../place/home.ts';
import { asideName, isAbout } from '../place/updater-container.ts';

/** For a start by anybody: what is fetched by then stays, and the update pulls the rest. */
export async function endPrefetch(engine: EngineSocket, settings: Settings, home: Home): Promise<void> {
  if (settings.prefetch === false) return;
  const found = await engine.inspect(asideName('prefetch', settings, home));
  if (found !== null && isAbout(found, home) && isUp(found)) await engine.kill(found.id, 'SIGTERM');
}
