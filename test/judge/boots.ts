import type { Meanwhile } from './containers.ts';
import type { Look } from './look.ts';

const bootsSince = (before: Look, after: Look): readonly string[] => after.boots.slice(before.boots.length);

/** A start of the version that answered before. */
const isOld =
  ({ version }: Look) =>
  (boot: string): boolean =>
    boot.endsWith(` ${version}`);

/** Neither app nor worker has been started, of whatever version. */
export function judgeNoStart(before: Look, after: Look): string[] {
  const boots = bootsSince(before, after);
  return boots.length > 0 ? [`something has been started: ${boots.join(', ')}`] : [];
}

/** Nothing of another version has run, not even for a moment. */
export function judgeOldOnly(before: Look, after: Look): string[] {
  const newer = bootsSince(before, after).filter((boot) => !isOld(before)(boot));
  return newer.length > 0 ? [`the new version has run: ${newer.join(', ')}`] : [];
}

/** Once something of the new version has been started, nothing of the old one is started any more. */
export function judgeForward(before: Look, after: Look, { restarted = false }: Meanwhile = {}): string[] {
  const old = isOld(before);
  const all = bootsSince(before, after);
  const boots = restarted ? all.filter((boot) => !(old(boot) && boot.startsWith('worker '))) : all;
  const first = boots.findIndex((boot) => !old(boot));
  return first >= 0 && boots.slice(first).some(old)
    ? [`the old version was started after the new one: ${boots.join(', ')}`]
    : [];
}
