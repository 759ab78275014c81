import { differs } from './differs.ts';
import type { Look } from './look.ts';

/** The data exists on disk, and in responses of the app if the app is healthy. */
export const judgeData = (before: Look, after: Look, isWell: boolean): string[] =>
  isWell
    ? differs('data', before.kept, after.kept)
    : differs('data on disk', before.kept.onDisk, after.kept.onDisk);

/** Each container, or its replacement, has its anonymous volumes. */
export function judgeVolumes(before: Look, after: Look): string[] {
  const volumes = ({ containers }: Look) =>
    Object.fromEntries(Object.entries(containers).map(([name, { volumes }]) => [name, volumes]));
  return differs('anonymous volumes', volumes(before), volumes(after));
}
