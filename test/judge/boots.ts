import type { Meanwhile } from './containers.ts';
import type { Look } from './look.ts';

const bootsSince = (before: Look, after: Look): readonly string[] => after.boots.slice(before.boots.length);

/** Matches starts of the version that was running before. */
const isOld =
  ({ version }: Look) =>
  (boot: string): boolean =>
    boot.endsWith(` ${version}`);

/** Neither app nor worker has been started in any version. */
export function judgeNoStart(before: Look, after: Look): string[] {
  const boots = bootsSince(before, after);
  return boots.length > 0 ? [`something has been started: ${boots.join(', ')}`] : [];
}

/** No other version than the old one has been started, not even for a moment. */
export function judgeOldOnly(before: Look, after: Look): string[] {
  const newer = bootsSince(before, after).filter((boot) => !isOld(before)(boot));
  return newer.length > 0 ? [`the new version has run: ${newer.join(', ')}`] : [];
}

/** After the first start of the new version, the old version is not started again. */
export function judgeForward(before: Look, after: Look, { restarted = false }: Meanwhile = {}): string[] {
  const old = isOld(before);
  const all = bootsSince(before, after);
  const boots = restarted ? all.filter((boot) => !(old(boot) && boot.startsWith('worker '))) : all;
  const first = boots.findIndex((boot) => !old(boot));
  return first >= 0 && boots.slice(first).some(old)
    ? [`the old version was started after the new one: ${boots.join(', ')}`]
    : [];
}
