import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, readlink, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative } from 'node:path';
import { execa } from 'execa';
import { keptLayer, type ReadyLayer } from '../../rig/server/node-layer.ts';
import type { TarEntry } from '../../rig/tar.ts';

/** Programs from Debian packages, as one layer without a base image. */
export interface DebianPrograms {
  /** Part of the file name in the cache: each recipe needs its own name. */
  name: string;
  /** The package of the programs; of its dependencies only libraries are included. */
  package: string;
  /** Folders or files below the root of the unpacked packages; `*` matches one name, or the end of a name. */
  paths: readonly string[];
}

const layers = new Map<string, Promise<ReadyLayer>>();

/** Downloads packages with apt, unpacks them without installing them, and caches the result. */
export function debianLayer(programs: DebianPrograms): Promise<ReadyLayer> {
  const made = layers.get(programs.name) ?? keptLayer(programs.name, () => unpack(programs));
  layers.set(programs.name, made);
  made.catch(() => layers.delete(programs.name));
  return made;
}

async function unpack(programs: DebianPrograms): Promise<TarEntry[]> {
  const directory = await mkdtemp(join(tmpdir(), 'debian-'));
  try {
    const root = join(directory, 'root');
    await download(programs.package, directory);
    for (const name of await readdir(directory)) {
      if (name.endsWith('.deb')) await run('dpkg-deb', ['-x', name, root], directory);
    }
    return await entriesOf(root, programs);
  } catch (cause) {
    throw new Error(`the demo platform needs the Debian package ${programs.package}`, { cause });
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function download(name: string, directory: string): Promise<void> {
  const fetched = async () => {
    const names = await packagesFor(name, directory);
    await run('apt-get', ['download', '-q', '-o', 'APT::Sandbox::User=root', ...names], directory);
  };
  for (let tries = 0; ; tries++) {
    try {
      return await fetched();
    } catch (cause) {
      if (tries === 4) throw cause;
      // A new machine has no package lists, or outdated ones. Other tests may update the lists at the same time.
      await run('flock', [join(tmpdir(), 'svc-updater-apt.lock'), 'apt-get', 'update', '-q'], directory);
    }
  }
}

/**
 * Packages of a metapackage (such as `postgresql-15` for `postgresql`), its client, and all libraries; no other
 * dependencies.
 */
async function packagesFor(name: string, directory: string): Promise<string[]> {
  const kinds = ['recommends', 'suggests', 'conflicts', 'breaks', 'replaces', 'enhances'];
  const flags = ['--recurse', ...kinds.map((kind) => `--no-${kind}`)];
  const { stdout } = await run('apt-cache', ['depends', ...flags, name], directory);
  const all = stdout.split('\n').filter((line) => /^[a-z]/.test(line));
  const wanted = new RegExp(`^(lib|zlib|${name}$|${name}-(client-)?\\d+$|${name}\\.\\d+(-minimal)?$)`);
  // A compiler for large queries, and dependencies of omitted programs.
  const unwanted = /llvm|^libz3|perl|-modules|elogind|newt|slang|semanage|-bin|l10n|-data$|debian/;
  return all.filter((each) => wanted.test(each) && !unwanted.test(each));
}

async function entriesOf(root: string, { paths }: DebianPrograms): Promise<TarEntry[]> {
  const entries = new Map<string, TarEntry>();
  const loader = await loaderOf(root);
  for (const file of (await Promise.all(paths.map((path) => filesAt(root, path)))).flat()) {
    const content = await readFile(join(root, file));
    const isProgram = content.subarray(0, 4).equals(Buffer.from('\x7fELF'));
    entries.set(file, { name: file, kind: 'file', mode: isProgram ? 0o755 : 0o644, content });
    if (!isProgram || loader === null) continue;
    for (const library of await librariesOf(root, loader, file)) {
      entries.set(library.name, library);
    }
  }
  // Found on the PATH, as on a machine with the package.
  for (const file of [...entries.keys()].filter((name) => /^usr\/lib\/.*\/bin\//.test(name))) {
    const name = `usr/bin/${basename(file)}`;
    entries.set(name, { name, kind: 'link', target: `/${file}` });
  }
  return [...entries.values()].sort((a, b) => a.name.localeCompare(b.name));
}

async function filesAt(root: string, path: string): Promise<string[]> {
  const [before = '', after] = path.split('*');
  if (after !== undefined) {
    const folder = before.slice(0, before.lastIndexOf('/') + 1);
    const found = (await readdir(join(root, folder))).map((name) => folder + name);
    const each = found.filter((name) => name.startsWith(before) && existsSync(join(root, `${name}${after}`)));
    return (await Promise.all(each.map((name) => filesAt(root, `${name}${after}`)))).flat();
  }
  const found = await readdir(join(root, path), { withFileTypes: true, recursive: true }).catch(() => null);
  if (found === null) return [path];
  return found
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)));
}

/** The loader of the packages, which finds their libraries on any machine; null for static programs. */
async function loaderOf(root: string): Promise<string | null> {
  for (const folder of ['lib64', 'lib', 'usr/lib64', 'usr/lib']) {
    const names = await readdir(join(root, folder)).catch(() => []);
    const name = names.find((each) => /^ld-linux.*\.so\.\d+$/.test(each));
    if (name !== undefined) return join(folder, name);
  }
  return null;
}

async function librariesOf(root: string, loader: string, program: string): Promise<TarEntry[]> {
  const folders = (await readdir(join(root, 'usr/lib'))).filter((name) => name.endsWith('-linux-gnu'));
  const places = folders.flatMap((name) => [join(root, 'lib', name), join(root, 'usr/lib', name)]);
  const at = join(root, loader);
  // A link to an absolute path points outside the unpacked tree.
  const target = await readlink(at).catch(() => at);
  const real = target.startsWith(root)
    ? target
    : await realpath(join(target.startsWith('/') ? root : dirname(at), target));
  const listed = await execa(real, ['--library-path', places.join(':'), '--list', join(root, program)], {
    timeout: 20_000,
    reject: false,
  });
  const found = [...listed.stdout.matchAll(/^\s*([^/\s]+) => (\S+) \(0x/gm)];
  const [folder = ''] = folders;
  const libraries = await Promise.all(
    found
      .filter(([, , path = '']) => path.startsWith(root))
      .map(async ([, name = '', path = '']): Promise<TarEntry> => {
        return { name: `lib/${folder}/${name}`, kind: 'file', mode: 0o755, content: await readFile(path) };
      }),
  );
  if (/not a dynamic executable|statically linked/.test(listed.stdout + listed.stderr)) return [];
  if (libraries.length === 0)
    throw new Error(`${program} has no libraries: ${listed.stdout}${listed.stderr}`);
  // Programs expect the path without `usr/`, which newer releases add.
  const name = loader.replace(/^usr\//, '');
  return [...libraries, { name, kind: 'file', mode: 0o755, content: await readFile(real) }];
}

function run(program: string, args: readonly string[], cwd: string) {
  return execa(program, args, { cwd, stdin: 'ignore', timeout: 300_000 });
}
