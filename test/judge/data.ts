import { differs } from './differs.ts';
import type { Look } from './look.ts';

/** The data is there, on the disk and through the app; of an app that is not well only the disk is asked. */
export const judgeData = (before: Look, after: Look, isWell: boolean): string[] =>
  isWell
    ? differs('data', before.kept, after.kept)
    : differs('data on disk', before.kept.onDisk, after.kept.onDisk);

/** Each container, or its successor, has the anonymous volumes that it had. */
export function judgeVolumes(before: Look, after: Look): string[] {
  const volumes = ({ containers }: Look) =>
    Object.fromEntries(Object.entries(containers).map(([name, { volumes }]) => [name, volumes]));
  return differs('anonymous volumes', volumes(before), volumes(after));
}
