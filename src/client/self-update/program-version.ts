import { versionFromLabel } from '../../release/tag.ts';
import { runToEnd } from './run-to-end.ts';

const deadline = 10_000;

/** What a program says of itself. */
export type Said = { version: string } | { trouble: string };

/** Asks a program for its version, `v1.5.0`: the first word of that form in what `--version` prints. */
export async function programVersion(command: readonly string[], signal: AbortSignal): Promise<Said> {
  const { output, trouble } = await runToEnd([...command, '--version'], { deadline, signal });
  if (trouble !== null) return { trouble: `with --version it ${trouble}` };
  const version = versionIn(output);
  return version === null ? { trouble: 'its --version prints no version' } : { version };
}

/** `svc-worker v1.5.0 (2026-11-20)` says `v1.5.0`; null where no version is in it. */
export function versionIn(output: string): string | null {
  for (const word of output.split(/[\s(),;:/"]+/)) {
    const version = versionFromLabel(word);
    if (version !== null) return `v${version}`;
  }
  return null;
}
