// biome-ignore-all lint/suspicious/noTemplateCurlyInString: compose's own variables
import { describe, expect, it } from 'vitest';
import {
  findServicesByEnvFile,
  listRootSources,
  resolveIncludedSources,
  resolveIncludeTree,
} from '../../../src/core/compose/include-tree.ts';
import type { ProjectFiles } from '../../../src/core/compose/project-files.ts';
import { UpdateError } from '../../../src/core/errors/update-error.ts';

/** Files by their paths in `/srv`. Other files refer to those in `linked`. Names of env files end in `env`. */
function project(roots: Record<string, string>, linked: Record<string, string> = {}): ProjectFiles {
  const [own, others] = [roots, linked].map((texts) =>
    Object.entries(texts).map(([name, text]) => ({ path: `/srv/${name}`, text })),
  ) as [{ path: string; text: string }[], { path: string; text: string }[]];
  const isEnv = ({ path }: { path: string }) => path.endsWith('env');
  return {
    composeFiles: own.filter((file) => !isEnv(file)),
    envFiles: own.filter(isEnv),
    newEnvFile: '/srv/.env',
    linkedFiles: others.filter((file) => !isEnv(file)),
    linkedEnvFiles: others.filter(isEnv),
  };
}

const services = 'services: {app: {image: svc}}';

const short = (path: string) => path.replace('/srv/', '');
const placesOf = (sources: readonly { file: { file: { path: string } }; base: string }[]) =>
  sources.map(({ file, base }) => `${short(file.file.path)} from ${short(base)}`);

describe('the root files', () => {
  it('are listed with their directories', () => {
    const found = listRootSources(project({ 'p/c.yaml': services }));
    expect(placesOf(found)).toEqual(['p/c.yaml from p']);
    expect(found.map(({ followsIncludes: follows }) => follows)).toEqual([true]);
  });

  it.each<[string, string, string | undefined]>([
    ['in an env file', 'V', 'v1.4.2'],
    ['given from elsewhere, which wins', 'W', 'given'],
    ['nowhere, though every object has it', 'constructor', undefined],
  ])('have the value of a variable set %s', (_, name, value) => {
    const files = { ...project({ 'p/c.yaml': services, '.env': 'V=v1.4.2\nW=own' }), given: { W: 'given' } };
    expect(listRootSources(files)[0]?.variables(name)?.text).toBe(value);
  });
});

describe('the files of an include', () => {
  const linked = {
    'p/a.yaml': services,
    'p/sub/a.yaml': services,
    'p/o/b.yaml': services,
    'p/sub/.env': 'V=sub\nOWN=sub',
    'p/pd/.env': 'V=pd\nOWN=pd',
    'p/x.env': 'V=x\nOWN=x',
    'p/y.env': 'OWN=${V}y',
  };
  const inSub = ['p/sub/a.yaml from p/sub'];
  /** `variables` are the values of `OWN` and `V`. */
  it.each<[string, include: string, env: string, places: string[], variables: [string | undefined, string]]>([
    ['short', 'sub/a.yaml', '', inSub, ['sub', 'sub']],
    ['by a path with variables', '"${D:-sub}/../a.yaml"', 'V=root', ['p/a.yaml from p'], [undefined, 'root']],
    [
      'a list, from the directory of the first',
      '{path: [sub/a.yaml, o/b.yaml]}',
      '',
      [...inSub, 'p/o/b.yaml from p/sub'],
      ['sub', 'sub'],
    ],
    [
      'with a project directory',
      '{path: sub/a.yaml, project_directory: "${D:-pd}"}',
      '',
      ['p/sub/a.yaml from p/pd'],
      ['pd', 'pd'],
    ],
    ['with an env file', '{path: sub/a.yaml, env_file: "${E:-x.env}"}', '', inSub, ['x', 'x']],
    ['without any env file', '{path: sub/a.yaml, env_file: /dev/null}', 'V=root', inSub, [undefined, 'root']],
  ])('are found with their directory and variables: %s', (_, include, env, places, variables) => {
    const files = project({ 'p/c.yaml': `include: [${include}]`, 'p/.env': env }, linked);
    const [root] = listRootSources(files);
    const [entry] = root?.file.includes ?? [];
    if (!root || !entry) throw new Error('no include');
    const found = resolveIncludedSources(files, root, entry).map((layer) => {
      if (layer instanceof UpdateError) throw layer;
      return layer;
    });
    expect(placesOf(found)).toEqual(places);
    for (const { variables: read } of found) expect([read('OWN')?.text, read('V')?.text]).toEqual(variables);
  });

  it('include an error with the line of the include if a file does not exist', () => {
    const files = project({ 'p/c.yaml': 'include:\n  - sub/a.yaml' });
    const [root] = listRootSources(files);
    const [entry] = root?.file.includes ?? [];
    if (!root || !entry) throw new Error('no include');
    const message = 'c.yaml line 2: include /srv/p/sub/a.yaml does not exist';
    expect(resolveIncludedSources(files, root, entry)).toMatchObject([{ code: 'compose-invalid', message }]);
  });
});

describe('the include tree', () => {
  interface Reached {
    layers: string[];
    composeFiles: string[];
    envFiles: string[];
  }
  it.each<[string, Record<string, string>, Record<string, string>, Reached]>([
    [
      'what is not at hand yet',
      { 'p/c.yaml': 'include:\n  - path: [a.yaml, b.yaml]\n    env_file: x.env' },
      {},
      {
        layers: ['p/c.yaml from p'],
        composeFiles: ['include p/a.yaml (c.yaml line 2)', 'include p/b.yaml (c.yaml line 2)'],
        envFiles: ['env_file p/x.env (c.yaml line 3)'],
      },
    ],
    [
      'bases, each from where it lies, without their includes',
      { 'p/c.yaml': 'services: {app: {extends: {file: "${D:-sub}/a.yaml", service: a}}}' },
      {
        'p/sub/a.yaml': 'include: [no.yaml]\nservices:\n  a: {extends: {file: ../b.yaml, service: b}}',
        'p/b.yaml': 'services: {b: {image: svc}}',
      },
      {
        layers: ['p/c.yaml from p', 'p/sub/a.yaml from p/sub', 'p/b.yaml from p'],
        composeFiles: ['extends p/sub/a.yaml (c.yaml line 1)', 'extends p/b.yaml (sub/a.yaml line 3)'],
        envFiles: [],
      },
    ],
    [
      'one file in two places',
      { 'p/c.yaml': 'include: [a.yaml, {path: a.yaml, project_directory: q}, a.yaml]' },
      { 'p/a.yaml': services },
      {
        layers: ['p/c.yaml from p', 'p/a.yaml from p', 'p/a.yaml from p/q'],
        composeFiles: ['include p/a.yaml (c.yaml line 1)'],
        envFiles: [
          'env file of include p/.env (c.yaml line 1), optional',
          'env file of include p/q/.env (c.yaml line 1), optional',
        ],
      },
    ],
    [
      'files that lead to one another',
      { 'p/c.yaml': 'include: [a.yaml]\nservices: {app: {extends: {file: c.yaml, service: x}}}' },
      { 'p/a.yaml': 'include: [c.yaml]' },
      {
        layers: ['p/c.yaml from p', 'p/a.yaml from p'],
        composeFiles: ['include p/a.yaml (c.yaml line 1)', 'extends p/c.yaml (c.yaml line 2)'],
        envFiles: ['env file of include p/.env (a.yaml line 1), optional'],
      },
    ],
  ])('contains all referenced files: %s', (_, roots, linked, expected) => {
    const { sources: layers, composeFiles, envFiles } = resolveIncludeTree(project(roots, linked));
    const told = ({ path, kind: as, referencedAt: where, isOptional: optional }: (typeof envFiles)[number]) =>
      `${as} ${short(path)} (${where})${optional ? ', optional' : ''}`;
    expect({
      layers: placesOf(layers),
      composeFiles: composeFiles.map(told),
      envFiles: envFiles.map(told),
    }).toEqual(expected);
  });

  it('is rejected if it is endless', () => {
    const files = project(
      { 'p/c.yaml': 'include: [{path: c.yaml, project_directory: sub}]' },
      { 'p/sub/c.yaml': services },
    );
    const endless = project({ 'p/c.yaml': 'include: [{path: /srv/p/c.yaml, project_directory: deeper}]' });
    expect(resolveIncludeTree(files).sources).toHaveLength(3);
    expect(() => resolveIncludeTree(endless)).toThrow(
      expect.objectContaining({
        code: 'compose-invalid',
        message: 'c.yaml line 1: include and extends refer to more than 1000 files',
      }),
    );
  });
});

describe('findServicesByEnvFile', () => {
  it.each<[string, string, Record<string, string>, string[]]>([
    ['one path', 'services: {a: {env_file: .env}, b: {env_file: b.env}, c: {image: x}}', {}, ['a']],
    [
      'a list with an optional one',
      'services: {a: {env_file: [b.env, {path: ./.env, required: false}]}}',
      {},
      ['a'],
    ],
    ['a variable', 'services: {a: {env_file: "${F:-.env}"}}', {}, ['a']],
    [
      'a service that it extends',
      'services: {a: {extends: b}, b: {env_file: .env}, c: {extends: {service: a}}}',
      {},
      ['a', 'b', 'c'],
    ],
    [
      'a service of another file that it extends',
      'services: {a: {extends: {file: sub/a.yaml, service: x}}, b: {extends: {file: sub/a.yaml, service: y}}}',
      { 'p/sub/a.yaml': 'services: {x: {env_file: ../.env}, y: {image: y}}' },
      ['a'],
    ],
    [
      'an included file',
      'include: [sub/a.yaml]',
      { 'p/sub/a.yaml': 'services: {x: {env_file: ../.env}}' },
      ['x'],
    ],
  ])('finds the services that read an env file through %s', (_, text, linked, expected) => {
    expect(findServicesByEnvFile(project({ 'p/c.yaml': text }, linked), ['/srv/p/.env']).sort()).toEqual(
      expected,
    );
  });
});
