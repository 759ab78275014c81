import type { Engine } from '../engine/engine.ts';
import type { Cancellation } from './cancellation.ts';
import type { Installation } from './installation.ts';
import type { Log } from './log.ts';
import type { UpdateOptions } from './options.ts';
import type { Known } from './report-ending.ts';
import { fromWord } from './story.ts';

/** What every phase of a run gets. */
export interface RunContext {
  engine: Engine;
  options: UpdateOptions;
  log: Log;
  cancellation: Cancellation;
  /** Milliseconds since the epoch. */
  startedAt: number;
  known: Known;
}

/** For the line that ends a run, however it ends. */
export function remember(known: Known, installation: Installation): void {
  known.version = fromWord(installation);
  known.project = installation.project.name;
  known.services = installation.services.map(({ name }) => name);
}
