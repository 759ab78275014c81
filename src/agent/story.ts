import { basename } from 'node:path';
import type { Image } from '../engine/container.ts';
import { isMeantToRun, service } from '../engine/container.ts';
import { versionLabel } from '../engine/labels.ts';
import { exitCodes } from '../progress/outcome.ts';
import { parseTag, versionFromLabel } from '../release/tag.ts';
import type { Installation } from './inspect/installation.ts';
import { composeCommand } from './log/ending.ts';
import type { Fields, Log } from './log/log.ts';
import type { Settled } from './plan/plan-files.ts';
import type { Move, UpdatePlan } from './plan/plan-update.ts';
import type { RunContext } from './process/run-context.ts';
import { seconds } from './replace/await-healthy.ts';
import type { Changeover } from './state/changeover.ts';
import type { Ending } from './state/journal.ts';

export const and = (names: readonly string[]): string =>
  names.length < 2 ? (names[0] ?? '') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;

/** `v1.4.2`, or the tag where no version is known. */
export const fromWord = (installation: Installation): string => {
  if (installation.runningVersion) return `v${installation.runningVersion}`;
  const reference = installation.services[0]?.containers[0]?.imageReference ?? '';
  return reference.slice(reference.lastIndexOf(':') + 1) || 'an unknown version';
};

/** What was reached; beside a floating tag the version that its image tells. */
export function reached(plan: UpdatePlan, settled: Pick<Settled, 'version'>): string {
  const tag = plan.moves[0]?.tag ?? plan.goal;
  if (parseTag(tag).kind === 'release') return plan.goal;
  return settled.version ? `${tag} (v${settled.version})` : tag;
}

export function describeInstallation(installation: Installation, log: Log): void {
  const { services, kind, files, runningVersion, followers, pins } = installation;
  const names = and(services.map(({ name }) => name));
  const file = basename(files.composeFiles[0]?.path ?? '');
  const pinnedBy = and([...new Set(pins.map(({ place }) => place.description))]);
  log.info(
    `${names} ${services.length > 1 ? 'run' : 'runs'} ${fromWord(installation)}; ${file} is ${kind}, pinned by ${pinnedBy}`,
    {
      from: fromWord(installation),
      kind,
    },
  );
  if (!runningVersion)
    log.info('the running images do not tell their version: there is no check against a downgrade');
  for (const { name, running, containers, isApp, stopped } of services) {
    const down = containers.filter((container) => !isMeantToRun(container));
    if (running === 0)
      log.info(`${name} is stopped: it is updated and ${isApp ? 'started' : 'left stopped'}`);
    else if (!isApp && down.length > stopped.length) {
      log.warn(`${name} is stopped since something was interrupted that replaced it: it is started again`);
    } else if (containers.length > 1) {
      const left = isApp ? [] : down.map((container) => `, ${container.name} is stopped and left stopped`);
      log.info(`${name} has ${containers.length} containers${left.join('')}`);
    }
  }
  if (followers.length > 0) {
    log.info(
      `${and(followers.map(({ name }) => name))} shares a namespace with ${names}: it is recreated with it`,
    );
  }
}

export function describePlan(installation: Installation, plan: UpdatePlan, log: Log): void {
  const { services, followers, containers } = installation;
  const bumps = plan.moves.filter(({ pin, tag }) => tag !== (pin.reference.tag ?? 'latest'));
  const places = [...new Set(bumps.map((move) => describeBump(move, installation.files.newEnvFile)))];
  const moved = [...services, ...followers].map(({ name }) => name);
  const stay = [...new Set(containers.map(service))].filter((name) => !moved.includes(name)).sort();
  const what = [
    ...(installation.kind === 'generated' ? ['take the compose file of the release'] : []),
    ...places,
  ];
  const steps =
    what.length > 0
      ? `${what.join(', ')}, recreate ${and(moved)}`
      : `pull again, recreate ${and(moved)} where the image is another`;
  const from = fromWord(installation);
  const way = from === plan.goal ? from : `${from} → ${plan.goal}`;
  log.info(`${way}: ${steps}${stay.length > 0 ? `; ${and(stay)} stay${stay.length > 1 ? '' : 's'}` : ''}`, {
    from: fromWord(installation),
    to: plan.goal,
  });
  for (const warning of plan.warnings) log.warn(warning);
}

/** A default that floats stays as it is: the variable is set in the env file instead (SPEC 2.1). */
function describeBump({ pin, tag }: Move, envFile: string): string {
  const { kind, variable, description } = pin.place;
  return kind === 'default' && pin.tag.kind !== 'release'
    ? `set ${variable} to ${tag} in ${basename(envFile)}`
    : `move ${description} to ${tag}`;
}

/** What each service runs in the end: `app and worker run v1.5.0`, or one after the other where they differ. */
export function whatRuns(plan: UpdatePlan, settled: Settled, images: ReadonlyMap<string, Image>): string {
  const byWord = new Map<string, string[]>();
  for (const move of plan.moves) {
    const version = versionOf(move, settled, images);
    const floating = version ? `${move.tag} (v${version})` : move.tag;
    const word = parseTag(move.tag).kind === 'release' ? plan.goal : floating;
    byWord.set(word, [...(byWord.get(word) ?? []), move.service]);
  }
  return [...byWord].map(([word, names]) => `${and(names)} ${runs(names)} ${word}`).join(', ');
}

/** Where a floating tag or a label says something else than was asked for, once for each image. */
export function versionWarnings(
  plan: UpdatePlan,
  settled: Settled,
  images: ReadonlyMap<string, Image>,
): string[] {
  const { target } = plan;
  if (target?.kind !== 'release') return [];
  const byWarning = new Map<string, string[]>();
  for (const move of plan.moves) {
    const version = versionOf(move, settled, images);
    if (!version || version === target.version) continue;
    const warning =
      move.tag === 'latest'
        ? `latest, which is v${version} by now, not ${target.tag}`
        : `${move.to}, which says it is v${version}, not ${target.tag}`;
    byWarning.set(warning, [...(byWarning.get(warning) ?? []), move.service]);
  }
  return [...byWarning].map(([warning, names]) => `${and(names)} ${runs(names)} ${warning}`);
}

const runs = (names: readonly string[]): string => (names.length > 1 ? 'run' : 'runs');

function versionOf(
  { service: name, to }: Move,
  { references }: Settled,
  images: ReadonlyMap<string, Image>,
): string | null {
  const image = images.get(references.get(name) ?? to) ?? images.get(to);
  return versionFromLabel(image?.labels[versionLabel]);
}

/** The last line of a run that did what was asked. */
function end(log: Log, outcome: 'updated' | 'unchanged', message: string, fields: Fields): Ending {
  log.info(message, { outcome, ...fields });
  return { outcome, exitCode: exitCodes[outcome], message: log.masked(message) };
}

export function endUnchanged(
  { log, startedAt }: RunContext,
  plan: UpdatePlan,
  settled: Settled,
  images: ReadonlyMap<string, Image>,
): Ending {
  for (const warning of versionWarnings(plan, settled, images)) log.warn(warning);
  return end(
    log,
    'unchanged',
    `unchanged: ${whatRuns(plan, settled, images)} already; nothing to do (${seconds(Date.now() - startedAt)})`,
    { to: plan.goal },
  );
}

export function endUpdated(
  { log, startedAt, known }: RunContext,
  { words, moved }: Changeover,
  freed: { reference: string; size: number } | null,
): Ending {
  const up = `${composeCommand(known)} up -d`;
  for (const name of words.alsoMoved) {
    log.info(`${name} is pinned by the same text: ${up} ${name} moves it, too`);
  }
  const { newServices } = words;
  if (newServices.length > 0) {
    log.info(
      `new in this release and not started: ${and(newServices)}; ${up} ${newServices.join(' ')} starts ${newServices.length > 1 ? 'them' : 'it'}`,
    );
  }
  const next = freed
    ? `to free ${Math.round(freed.size / 1_000_000)} MB: docker image rm ${freed.reference}`
    : `docker compose -p ${known.project} ps shows it`;
  const images = new Set(moved.flatMap(({ image }) => (image ? [image.reference] : [])));
  return end(
    log,
    'updated',
    `updated ${words.from} → ${words.reached} in ${seconds(Date.now() - startedAt)}; ${next}`,
    { from: words.from, to: words.goal, images: [...images] },
  );
}
