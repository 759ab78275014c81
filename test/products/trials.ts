import { differs } from '../judge/differs.ts';
import type { UpdateResult } from '../rig/updater-run.ts';
import { tryEnable } from './enable-trial.ts';
import type { Installed } from './installed.ts';
import { floats, type ReleaseName, tagsOf } from './product.ts';
import { judgeMoved, judgeSame, type View, view } from './view.ts';
import { judgeEnd, judgeOwnWords, judgeSays } from './words.ts';

/** One action of an owner. Returns a sentence for each error. */
type Trial = (installed: Installed) => Promise<string[]>;

/** Run in this order on one instance; the form selects the trials. */
export const trials = {
  /** Unchanged: a floating tag is pulled again, and a pinned tag requires a target. */
  'no target': async (installed) => {
    const before = await view(installed);
    const result = await installed.run(...servicesOf(installed));
    const pinned = installed.form.name === 'pinned';
    return [
      ...judgeEnd(result, pinned ? ['refused'] : ['unchanged'], pinned ? ['--target'] : []),
      ...(await untouched(installed, result, before)),
    ];
  },
  /** Without `--service`. */
  'nothing named': async (installed) => {
    const before = await atNext(installed);
    const result = await installed.run('plan', ...targetOf(installed, 'next'));
    const { moved, mayBeApp = [] } = installed.product;
    const named = moved.every((name) => new RegExp(`(?<![\\w-])${name}(?![\\w-])`).test(sentencesOf(result)));
    const [app, ...workers] = moved;
    const choices = [[app, ...workers.toSorted()], ...mayBeApp.map((name) => [name])];
    const lines = sentencesOf(result, 'error').match(/^services: \[.*?\]/gm) ?? [];
    return [
      ...judgeEnd(result, ['planned', 'refused']),
      ...(lines.length === 0
        ? []
        : differs(
            'the lines for the settings file',
            choices.map((names) => `services: [${names.join(', ')}]`),
            lines,
          )),
      ...(named ? [] : [`the log does not name all of ${moved.join(', ')}`]),
      ...(await untouched(installed, result, before)),
    ];
  },
  plan: async (installed) => {
    const before = await atNext(installed);
    const target = targetOf(installed, 'next');
    const result = await installed.run('plan', ...servicesOf(installed), ...target);
    return [
      ...judgeEnd(result, ['planned']),
      ...judgeSays(result, [...installed.product.moved, ...shown(target)]),
      ...(await untouched(installed, result, before)),
    ];
  },
  /** Only one of several related services. */
  'one alone': async (installed) => {
    const [app, ...others] = installed.product.moved;
    if (others.length === 0) return [];
    const before = await atNext(installed);
    const result = await installed.run('plan', '--service', app, ...targetOf(installed, 'next'));
    const left = others.filter((name) => !sentencesOf(result, 'warn', 'error').includes(name));
    return [
      ...judgeEnd(result, ['planned', 'refused']),
      ...(left.length === 0 ? [] : [`no warning names ${left.join(', ')}, left behind`]),
      ...(await untouched(installed, result, before)),
    ];
  },
  /** The database besides the app, by mistake. */
  database: async (installed) => {
    const { database, moved } = installed.product;
    if (database === undefined) return [];
    const before = await atNext(installed);
    const services = [...servicesOf(installed), '--service', database];
    const result = await installed.run('plan', ...services, ...targetOf(installed, 'next'));
    return [
      ...judgeEnd(result, ['refused']),
      ...(new RegExp(`(?<![\\w-])${database}(?![\\w-])`).test(sentencesOf(result, 'error'))
        ? []
        : [`no error names ${database} beside ${moved[0]}`]),
      ...(await untouched(installed, result, before)),
    ];
  },
  /** A release that does not exist. */
  missing: async (installed) => {
    const before = await atNext(installed);
    const target = ['--target', tagOf(installed, 'missing')];
    const result = await installed.run(...servicesOf(installed), ...target);
    return [
      ...judgeEnd(result, ['refused', 'failed']),
      // For a pin in parts, the missing tag may be one of the parts.
      ...(namesOf(installed, 'missing').some((name) => result.log.includes(name))
        ? []
        : [`the log does not name ${target[1]}`]),
      ...(await untouched(installed, result, before)),
    ];
  },
  update: async (installed) => {
    const before = await atNext(installed);
    const target = targetOf(installed, 'next');
    const result = await installed.run(...servicesOf(installed), ...target);
    const files = installed.files('next');
    return [
      // If the images have no version label, only the tag is known.
      ...judgeEnd(result, ['updated'], tellsNoVersion(installed) ? [] : shown(target)),
      ...judgeMoved(before, await view(installed), {
        version: tagOf(installed, 'next'),
        services: installed.product.moved,
        files,
        well: true,
      }),
      ...judgeOwnWords(installed.product, result),
      ...result.lines.filter(({ level }) => level === 'error').map(({ message }) => `an error: "${message}"`),
    ];
  },
  /** A release whose app exits at its start. A floating tag is updated without a target. */
  crash: async (installed) => {
    const before = await view(installed);
    await installed.publish('crashing');
    const target = floats(installed.form) ? [] : targetOf(installed, 'crashing');
    const result = await installed.run(...servicesOf(installed), ...target, '--wait-timeout', '60');
    return [
      ...judgeEnd(result, ['broken'], ['docker compose', installed.product.moved[0]]),
      ...judgeSays(result, ['the schema of the database is not known']),
      ...judgeMoved(before, await view(installed), {
        version: null,
        services: installed.product.moved,
        files: installed.files('crashing'),
        well: false,
      }),
      ...judgeOwnWords(installed.product, result),
    ];
  },
  /** Only run if it is chosen: the other trials expect other tags. */
  enable: tryEnable,
} as const satisfies Record<string, Trial>;

/** For tags that are not versions, the newer tag is unknown: the owner has to edit the file. */
export const withoutVersion: Partial<Record<keyof typeof trials, Trial>> = {
  'no target': async (installed) => {
    const before = await view(installed);
    const result = await installed.run(...servicesOf(installed));
    return [...judgeEnd(result, ['refused', 'unchanged']), ...(await untouched(installed, result, before))];
  },
  update: async (installed) => {
    const before = await atNext(installed);
    const result = await installed.run(...servicesOf(installed), '--target', tagOf(installed, 'next'));
    return [
      ...judgeEnd(result, ['refused']),
      ...(/not a (?:release|version)/.test(sentencesOf(result))
        ? []
        : ['the log does not say that it is no version']),
      ...(await untouched(installed, result, before)),
    ];
  },
};

export type TrialName = keyof typeof trials;
export const trialNames = Object.keys(trials) as TrialName[];

const tagOf = ({ product }: Installed, release: ReleaseName): string => product.releases[release].tag;

const targetOf = (installed: Installed, release: ReleaseName): string[] =>
  installed.product.isUntargeted ? [] : ['--target', tagOf(installed, release)];

const tellsNoVersion = ({ product, form }: Installed): boolean =>
  form.name !== 'pinned' && product.label === 'none';

const namesOf = ({ product }: Installed, release: ReleaseName): string[] =>
  tagsOf(product.releases[release]).map(withoutVariant);

const withoutVariant = (tag: string): string => tag.replace(/-[a-z].*$/, '');

/** A release in a log message: the suffix may be missing. */
const shown = (target: readonly string[]): string[] => target.slice(1).map(withoutVariant);

const servicesOf = ({ product }: Installed): string[] => product.moved.flatMap((name) => ['--service', name]);

/** The state of the instance after the next release was published. */
async function atNext(installed: Installed): Promise<View> {
  await installed.publish('next');
  return view(installed);
}

async function untouched(installed: Installed, result: UpdateResult, before: View): Promise<string[]> {
  return [...judgeSame(before, await view(installed)), ...judgeOwnWords(installed.product, result)];
}

const sentencesOf = ({ lines }: UpdateResult, ...levels: string[]): string =>
  lines
    .filter(({ level }) => levels.length === 0 || levels.includes(level))
    .map(({ message }) => message)
    .join('\n');
