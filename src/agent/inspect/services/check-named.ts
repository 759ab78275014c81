import { sharesPin as sharesText } from '../../../compose/find-pin.ts';
import type { ProjectFiles } from '../../../compose/project-files.ts';
import { isDatabase } from '../../../compose/reference.ts';
import type { Model } from '../../../engine/cli/compose.ts';
import { UpdateError } from '../../../progress/update-error.ts';
import { and } from '../../log/wording.ts';
import type { UpdateOptions } from '../../process/options.ts';
import { leaveAll } from './choices.ts';
import { bondOf, flags, imagesOf, type ServiceImage, shown, whyForeign } from './together.ts';

/** A project, and which of its services have containers. */
interface NamedIn {
  files: ProjectFiles;
  model: Model;
  kind: 'generated' | 'user-written';
  /** Names of services. */
  running: readonly string[];
  /** Of those the ones that are recreated with the app, as they live in a namespace of it. */
  followers: readonly string[];
  /** Names of those that run once, before the others (docs/contract.md 2.11). */
  migrations: readonly string[];
}

/**
 * Holds the services that the operator has named against the app's (docs/contract.md 2.23). Gives a sentence for each one
 * that is left behind because `--leave` says so, and for each name in `--leave` that no service has.
 * Refusals: foreign-service, left-behind.
 */
export function checkNamed(
  { app: first, workers, leave, servicesNamed }: UpdateOptions,
  { files, model, kind, running, followers, migrations }: NamedIn,
): string[] {
  const images = imagesOf(files, model);
  const app = images.find(({ name }) => name === first);
  if (app === undefined) return [];
  const moved = [first, ...workers.filter((name) => name in model.services)];
  const isSameText = ({ name }: ServiceImage) => app.pin !== null && sharesText(files, name, [app.pin]);
  // Where nobody has named any, those that run by default are the product's own.
  if (servicesNamed) {
    refuseForeign(
      app,
      images.filter(({ name }) => workers.includes(name)),
    );
  }
  // What a release brings in its own compose file, it names itself.
  if (kind === 'generated') return [];
  const bound = images
    .filter(({ name }) => ![...moved, ...migrations].includes(name) && running.includes(name))
    // One that is recreated with the app, and written by its pin, moves.
    .filter((each) => !(followers.includes(each.name) && isSameText(each)))
    .flatMap((each) => {
      const bond = bondOf(app, each);
      return bond === null ? [] : [{ each, bond }];
    });
  const isLeft = (name: string) => leave.includes(name) || leave.includes(leaveAll);
  const forgotten = bound.filter(({ each }) => !isLeft(each.name));
  if (forgotten.length > 0) throw leftBehind(app, moved, forgotten);
  const unknown = leave.filter((name) => name !== leaveAll && !(name in model.services));
  return [
    ...bound.map(
      ({ each, bond }) =>
        `${each.name} is left behind at ${shown(each.reference)}, as --leave says; it belongs with ${app.name}: ${bond}`,
    ),
    ...unknown.map((name) => `--leave names ${name}, but compose shows no such service here`),
  ];
}

function refuseForeign(app: ServiceImage, named: readonly ServiceImage[]): void {
  if (isDatabase(app.reference)) {
    throw new UpdateError(
      'foreign-service',
      `${app.name} runs ${shown(app.reference)}, the image of a database, and a database is never moved`,
      {
        advice:
          'Name the app first with --service. A database is updated by hand, as its makers say, after a dump.',
      },
    );
  }
  const found = named.flatMap((each) => {
    const why = whyForeign(app, each);
    return why === null ? [] : [{ name: each.name, why }];
  });
  const last = found.at(-1);
  if (last === undefined) return;
  const own = named.map(({ name }) => name).filter((name) => !found.some((each) => each.name === name));
  throw new UpdateError('foreign-service', last.why, {
    // The log has these lines before the message.
    detail: found.slice(0, -1).map(({ why }) => why),
    advice: `Run it with ${flags('service', [app.name, ...own])}; ${and(found.map(({ name }) => name))} ${found.length > 1 ? 'stay' : 'stays'} as ${found.length > 1 ? 'they are' : 'it is'}.`,
  });
}

function leftBehind(
  app: ServiceImage,
  moved: readonly string[],
  forgotten: readonly { each: ServiceImage; bond: string }[],
): UpdateError {
  const sentences = forgotten.map(
    ({ each, bond }) => `${each.name} belongs with ${app.name} (${bond}), and was not named`,
  );
  const names = forgotten.map(({ each }) => each.name);
  return new UpdateError('left-behind', sentences.at(-1) ?? '', {
    detail: sentences.slice(0, -1),
    advice: `Run it with ${flags('service', [...moved, ...names])}; or, to leave ${names.length > 1 ? 'them' : 'it'} at the old version, with ${flags('leave', names)} besides.`,
  });
}
