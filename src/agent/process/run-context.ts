import { relative } from 'node:path';
import type { ComposeProject } from '../../engine/cli/compose.ts';
import type { Engine } from '../../engine/cli/engine.ts';
import type { Known } from '../log/ending.ts';
import type { Log } from '../log/log.ts';
import type { Cancellation } from './cancellation.ts';
import type { UpdateOptions } from './options.ts';

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
export function remember(
  known: Known,
  version: string,
  project: ComposeProject,
  services: readonly string[],
): void {
  known.version = version;
  known.project = project.name;
  known.services = services;
  known.fileFlags = fileFlags(project);
}

/** Compose finds one file of a usual name and its override by itself, and no others. */
function fileFlags({ directory, files, envFiles }: ComposeProject): string[] {
  const names = files.map((file) => relative(directory, file));
  const usual = /^(docker-)?compose(\.override)?\.ya?ml$/;
  return [
    ...(names.every((name) => usual.test(name)) ? [] : names.flatMap((name) => ['-f', name])),
    ...envFiles.flatMap((file) => ['--env-file', relative(directory, file)]),
  ];
}
