import { runToEnd } from './run-to-end.ts';

/** Who has installed a file, and what brings it up to date. */
export interface Installer {
  name: string;
  command: string;
}

/** The package manager that a path itself tells of; null where it tells of none. `path` has no links in it. */
export function installerOfPath(path: string): Installer | null {
  for (const [form, name, command] of stores) {
    const [, part = ''] = form.exec(path) ?? [];
    if (part !== '') return { name, command: `${command} ${part}` };
  }
  return installerOfModule(path);
}

const stores: readonly (readonly [form: RegExp, name: string, command: string])[] = [
  [/\/Cellar\/([^/]+)\//, 'Homebrew', 'brew upgrade'],
  [/^\/nix\/store\/[0-9a-z]{32}-(.+?)(?:-\d[^/]*)?\//, 'Nix', 'nix profile upgrade'],
  [/^\/gnu\/store\/[0-9a-z]{32}-(.+?)(?:-\d[^/]*)?\//, 'Guix', 'guix upgrade'],
  [/^\/(?:var\/lib\/snapd\/)?snap\/([^/]+)\//, 'Snap', 'sudo snap refresh'],
  [/\/\.volta\/tools\/image\/packages\/((?:@[^/]+\/)?[^/]+)\//, 'Volta', 'volta install'],
];

/** Of `…/node_modules/[@scope/]name/…`, by where the outermost such folder is. */
function installerOfModule(path: string): Installer | null {
  const [, name] = /^.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path) ?? [];
  if (name === undefined) return null;
  const around = path.slice(0, path.indexOf('/node_modules/'));
  if (/\/_npx\/[^/]+$/.test(around)) return { name: 'npx', command: `npx ${name}@latest` };
  if (/\/\.bun\/install\/global$/.test(around))
    return { name: 'Bun', command: `bun add --global ${name}@latest` };
  if (/\/yarn\/(?:Data\/)?global$/i.test(around))
    return { name: 'Yarn', command: `yarn global upgrade ${name} --latest` };
  if (/\/pnpm\/(?:[^/]+\/)*global\/|\/pnpm-global\//.test(`${around}/`))
    return { name: 'pnpm', command: `pnpm update --global --latest ${name}` };
  if (/\/lib$/.test(around)) return { name: 'npm', command: `npm install --global ${name}@latest` };
  const project = around.replace(/\/node_modules\/\.pnpm$/, '');
  return path.includes('/node_modules/.pnpm/')
    ? { name: 'pnpm', command: `pnpm --dir ${project} update --latest ${name}` }
    : { name: 'npm', command: `npm install --prefix ${project} ${name}@latest` };
}

/** The system's own package manager, where it knows of the file. */
export async function installerOfFile(path: string): Promise<Installer | null> {
  // Where /bin is a link to /usr/bin, a package may know its file by either.
  const paths = /^\/usr\/(?:bin|sbin|lib)\//.test(path) ? [path, path.slice('/usr'.length)] : [path];
  const asked = databases.flatMap((database) => paths.map((known) => ask(database, known)));
  return (await Promise.all(asked)).find((installer) => installer !== null) ?? null;
}

/** How a package manager is asked whose a file is. */
interface Database {
  ask: (path: string) => readonly string[];
  /** The package in its answer. */
  form: RegExp;
  name: string;
  command: (name: string) => string;
}

const databases: readonly Database[] = [
  {
    // It takes a pattern.
    ask: (path) => ['dpkg-query', '--search', path.replace(/[*?[\]\\]/g, '\\$&')],
    form: /^(?!diversion )([^\s:,]+)[^\n]*: \//m,
    name: 'dpkg',
    command: (name) => `sudo apt-get install --only-upgrade ${name}`,
  },
  {
    ask: (path) => ['rpm', '--query', '--file', '--queryformat', '%{NAME}\\n', path],
    form: /^(\S+)$/m,
    name: 'rpm',
    command: (name) => `sudo dnf upgrade ${name}`,
  },
  {
    ask: (path) => ['pacman', '--query', '--owns', '--quiet', path],
    form: /^(\S+)$/m,
    name: 'pacman',
    command: () => 'sudo pacman -Syu',
  },
  {
    ask: (path) => ['apk', 'info', '--who-owns', path],
    form: / is owned by (\S+)-[^-\s]+-r\d+$/m,
    name: 'apk',
    command: (name) => `apk upgrade ${name}`,
  },
];

async function ask({ ask, form, name, command }: Database, path: string): Promise<Installer | null> {
  // A system has one of them at most: the others cannot be started.
  const { output, trouble } = await runToEnd(ask(path), { deadline: 10_000 });
  const [, owner] = (trouble === null && form.exec(output)) || [];
  return owner === undefined ? null : { name, command: command(owner) };
}
