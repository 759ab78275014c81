import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const settings = fileURLToPath(new URL('tsconfig.types.json', import.meta.url));
const compiler = fileURLToPath(new URL('../../node_modules/.bin/tsc', import.meta.url));
const reference = /((?:\bfrom|\bimport)\s*\(?\s*)(['"])([^'"\n]+)\2/g;

/**
 * Writes the declarations of modules under `src` into a directory: their own and those that they refer to, no others.
 * Whether they are right is what `npm run types` is for.
 *
 * @param entries such as `server/index`
 * @param packages what they may import besides each other; whoever uses them has to have it installed
 */
export async function writeTypes(entries, directory, packages) {
  const all = await mkdtemp(join(tmpdir(), 'types-'));
  try {
    await promisify(execFile)(compiler, ['-p', settings, '--outDir', all]);
    const needed = entries.map((entry) => `${entry}.d.ts`);
    for (const file of needed) {
      const text = await readFile(join(all, file), 'utf8');
      const written = text.replace(reference, (whole, before, quote, name) => {
        if (name.startsWith('.')) {
          const target = relative(all, join(all, dirname(file), name)).replace(/\.ts$/, '.d.ts');
          if (!needed.includes(target)) needed.push(target);
          // The sources name each other `.ts`, which not every compiler takes in a declaration.
          return `${before}${quote}${name.replace(/\.ts$/, '.js')}${quote}`;
        }
        if (packages.includes(name) || name.startsWith('node:')) return whole;
        throw new Error(`build: ${file} would need the types of ${name}`);
      });
      await mkdir(dirname(join(directory, file)), { recursive: true });
      await writeFile(join(directory, file), written);
    }
    return needed;
  } finally {
    await rm(all, { recursive: true, force: true });
  }
}

/**
 * Writes the declarations of a module for files that TypeScript takes for CommonJS. They refer to those beside them, which
 * it takes for ESM: a class or type is the same in both.
 *
 * @param module the path of its declarations, without `.d.ts`
 * @param names what it exports besides types
 */
export async function writeCommonJsTypes(module, names) {
  const file = `'./${basename(module)}.js' with { 'resolution-mode': 'import' }`;
  const values = names.map((name) => {
    const type = /^[A-Z]/.test(name) ? `export type ${name} = library.${name};\n` : '';
    return `export declare const ${name}: typeof library.${name};\n${type}`;
  });
  const text = `import type * as library from ${file};\nexport type * from ${file};\n${values.join('')}`;
  await writeFile(`${module}.d.cts`, text);
}
