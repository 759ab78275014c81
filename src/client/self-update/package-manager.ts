import { runToEnd } from './run-to-end.ts';

/** Who has installed a file, and what brings it up to date. */
export interface Installer {
  name: string;
  command: string;
}

/** How a path tells of a package manager, and its command, where `*` stands for the package. */
type Row = readonly [form: RegExp, name: string, command: string];

/** The package is in the path itself. */
const stores: readonly Row[] = [
  [/\/Cellar\/([^/]+)\//, 'Homebrew', 'brew upgrade *'],
  [/^\/nix\/store\/[0-9a-z]{32}-(.+?)(?:-\d[^/]*)?\//, 'Nix', 'nix profile upgrade *'],
  [/^\/gnu\/store\/[0-9a-z]{32}-(.+?)(?:-\d[^/]*)?\//, 'Guix', 'guix upgrade *'],
  [/^\/(?:var\/lib\/snapd\/)?snap\/([^/]+)\//, 'Snap', 'sudo snap refresh *'],
  [/\/\.volta\/tools\/image\/packages\/((?:@[^/]+\/)?[^/]+)\//, 'Volta', 'volta install *'],
];

/** By the folder that the outermost `node_modules` is in. */
const modules: readonly Row[] = [
  [/\/_npx\/[^/]+$/, 'npx', 'npx *@latest'],
  [/\/\.bun\/install\/global$/, 'Bun', 'bun add --global *@latest'],
  [/\/yarn\/(?:Data\/)?global$/i, 'Yarn', 'yarn global upgrade * --latest'],
  [/\/pnpm\/(?:[^/]+\/)*global(?:\/|$)|\/pnpm-global(?:\/|$)/, 'pnpm', 'pnpm update --global --latest *'],
  [/\/lib$/, 'npm', 'npm install --global *@latest'],
];

/** The package manager that a path itself tells of; null where it tells of none. `path` has no links in it. */
export function installerOfPath(path: string): Installer | null {
  const of = ([, name, command]: Row, part: string) => ({ name, command: command.replace('*', () => part) });
  for (const store of stores) {
    const [, part = ''] = store[0].exec(path) ?? [];
    if (part !== '') return of(store, part);
  }
  const [, module] = /^.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path) ?? [];
  if (module === undefined) return null;
  const around = path.slice(0, path.indexOf('/node_modules/'));
  const row = modules.find(([form]) => form.test(around));
  if (row) return of(row, module);
  return path.includes('/node_modules/.pnpm/')
    ? { name: 'pnpm', command: `pnpm --dir ${around} update --latest ${module}` }
    : { name: 'npm', command: `npm install --prefix ${around} ${module}@latest` };
}

/** The system's own package manager, where it knows of the file. */
export async function installerOfFile(path: string): Promise<Installer | null> {
  // Where /bin is a link to /usr/bin, a package may know its file by either.
  const paths = /^\/usr\/(?:bin|sbin|lib)\//.test(path) ? [path, path.slice('/usr'.length)] : [path];
  const asked = systems.flatMap((system) => paths.map((known) => ask(system, known)));
  return (await Promise.all(asked)).find((installer) => installer !== null) ?? null;
}

/** A system has one of them at most: the others cannot be started. */
const systems: readonly {
  name: string;
  /** What tells whose a file is. */
  question: (path: string) => readonly string[];
  /** The package in its answer. */
  form: RegExp;
  /** What brings a package up to date. */
  command: (name: string) => string;
}[] = [
  {
    name: 'dpkg',
    // It takes a pattern.
    question: (path) => ['dpkg-query', '--search', path.replace(/[*?[\]\\]/g, '\\$&')],
    form: /^(?!diversion )([^\s:,]+)[^\n]*: \//m,
    command: (name) => `sudo apt-get install --only-upgrade ${name}`,
  },
  {
    name: 'rpm',
    question: (path) => ['rpm', '--query', '--file', '--queryformat', '%{NAME}\\n', path],
    form: /^(\S+)$/m,
    command: (name) => `sudo dnf upgrade ${name}`,
  },
  {
    name: 'pacman',
    question: (path) => ['pacman', '--query', '--owns', '--quiet', path],
    form: /^(\S+)$/m,
    command: () => 'sudo pacman -Syu',
  },
  {
    name: 'apk',
    question: (path) => ['apk', 'info', '--who-owns', path],
    form: / is owned by (\S+)-[^-\s]+-r\d+$/m,
    command: (name) => `apk upgrade ${name}`,
  },
];

async function ask(system: (typeof systems)[number], path: string): Promise<Installer | null> {
  const { output, trouble } = await runToEnd(system.question(path));
  const [, owner] = (trouble === null && system.form.exec(output)) || [];
  return owner === undefined ? null : { name: system.name, command: system.command(owner) };
}
