// biome-ignore-all lint/suspicious/noTemplateCurlyInString: compose's own variables
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, resolve } from 'node:path';
import { execa } from 'execa';
import { describe, expect, it } from 'vitest';
import { updaterImage } from '../rig/updater-run.ts';
import { bump, inDirectory, type Where } from './support/bump.ts';

/** In texts and arguments `§` is the version, `¤` the hexadecimal part of a digest, `@root@` the directory above. */
interface Layout {
  /** By paths from the project directory. */
  files: Record<string, string>;
  links?: Record<string, string>;
  args?: string[];
  services?: string[];
  /** Other services that share the pin. */
  also?: string[];
  where?: Where;
}

interface Stand {
  version: string;
  digest: string;
}

const old: Stand = { version: '1.4.2', digest: 'a'.repeat(64) };
const fresh: Stand = { version: '1.5.0', digest: 'b'.repeat(64) };

const app = (image: string) => `services:\n  app:\n    image: ${image}\n`;
const one = (text: string, env?: string): Layout => ({
  files: { 'compose.yaml': text, ...(env === undefined ? {} : { '.env': env }) },
});
const image = (text: string, env?: string): Layout => one(app(text), env);
const overridden = (text: string, override: string): Layout => ({
  files: { 'compose.yaml': text, 'compose.override.yaml': override },
});
const digest = ['--digest', `sha256:${fresh.digest}`];

const layouts: Record<string, Layout> = {
  'extends in one file, a chain': {
    ...one(
      'services:\n  base: {image: "svc:v§"}\n  app: {extends: base}\n  web: {extends: {service: app}}\n',
    ),
    also: ['base', 'web'],
  },
  'extends over directories and back': {
    files: {
      'compose.yaml': 'services: {app: {extends: {file: sub/base.yml, service: b}}}\n',
      'sub/base.yml': 'services: {b: {extends: {file: ../deep/x.yml, service: c}}}',
      'deep/x.yml': 'services:\n  c: {extends: d}\n  d: {image: "svc:v§"}\n  e: {image: "svc:v1.4.2"}\n',
    },
    where: 'image',
  },
  'extends with an image of its own': one(
    'services:\n  app: {extends: base, image: "svc:v§"}\n  base: {image: "svc:v1.4.2"}\n',
  ),
  'extends, the image in the override': overridden(
    'services:\n  app: {extends: base}\n  base: {image: "svc:v1.4.2"}\n',
    app('svc:v§'),
  ),
  'extends in the override': {
    files: {
      'compose.yaml': app('svc:v1.4.2'),
      'compose.override.yaml': 'services: {app: {extends: {file: base.yml, service: b}}}\n',
      'base.yml': 'services: {b: {image: "svc:v§"}}\n',
    },
  },
  'extends of a base without an image in the override': {
    files: {
      'compose.yaml': app('svc:v§'),
      'compose.override.yaml': 'services: {app: {extends: {file: base.yml, service: b}}}\n',
      'base.yml': 'services: {b: {command: x}}\n',
    },
  },
  'extends of the very same file by name, changed by the override': overridden(
    'services: {app: {extends: {file: ./compose.yaml, service: base}}, base: {image: "svc:v§"}}\n',
    'services: {base: {image: "svc:v2.0.0"}}',
  ),
  'extends of a service that is included': {
    files: {
      'compose.yaml': 'include: [sub/w.yml]\nservices: {app: {extends: {file: sub/w.yml, service: web}}}\n',
      'sub/w.yml': 'services: {web: {image: "svc:v§"}}',
    },
    also: ['web'],
  },
  'extends with variables in the file and in the service': {
    files: {
      'compose.yaml': 'services: {app: {extends: {file: "$F.yaml", service: "${S:-b}"}}}\n',
      'b.yaml': 'services: {b: {image: "svc:v§"}, c: {image: "svc:v1.4.2"}}\n',
      '.env': 'F=b\n',
    },
  },
  'extends by an absolute path': {
    files: {
      'compose.yaml': 'services: {app: {extends: {file: @root@/o/a.yaml, service: app}}}\n',
      '../o/a.yaml': app('svc:v§'),
    },
  },
  'extends of a file whose own includes do not count': {
    files: {
      'compose.yaml': 'services: {app: {extends: {file: b.yml, service: web}}}\n',
      'b.yml': 'include: [nope.yml]\nservices: {web: {image: "svc:v§"}}\n',
    },
  },

  'include, short': {
    files: { 'compose.yaml': 'include:\n  - sub/a.yaml\n', 'sub/a.yaml': app('svc:v§') },
    where: 'image',
  },
  'include of a list of paths, started from the first': {
    files: {
      'compose.yaml': 'include:\n  - path:\n    - sub/a.yaml\n    - other/b.yaml\n',
      'sub/a.yaml': app('svc:v1.4.2'),
      'other/b.yaml': 'services: {app: {extends: {file: x.yml, service: x}}}\n',
      'sub/x.yml': 'services: {x: {image: "svc:v§"}}\n',
      'other/x.yml': 'services: {x: {image: "svc:v1.4.2"}}\n',
    },
  },
  'include with a project directory': {
    files: {
      'compose.yaml': 'include:\n  - path: sub/a.yaml\n    project_directory: pd\n',
      'sub/a.yaml': 'services: {app: {extends: {file: x.yml, service: x}}}\n',
      'pd/x.yml': 'services: {x: {image: "svc:$V"}}\n',
      'pd/.env': 'V=v§',
      'sub/.env': 'V=v1.4.2',
    },
    where: 'image',
  },
  'include with env files': {
    files: {
      'compose.yaml': 'include:\n  - path: sub/a.yaml\n    env_file:\n      - a.env\n      - b.env\n',
      'sub/a.yaml': app('svc:$V'),
      'a.env': 'V=v1.4.2\n',
      'b.env': 'V=v§\n',
      'sub/.env': 'V=v1.4.2\n',
    },
  },
  'include with an empty list of env files': {
    files: {
      'compose.yaml': 'include:\n  - path: sub/a.yaml\n    env_file: []\n',
      'sub/a.yaml': app('svc:${V:-v1.4.2}'),
      'sub/.env': 'V=v§\n',
    },
  },
  'include with the .env beside it': {
    files: {
      'compose.yaml': 'include: [sub/a.yaml]\nservices: {web: {image: "svc:${V:-v1.4.2}"}}\n',
      'sub/a.yaml': app('svc:$V'),
      'sub/.env': 'V=v§\n',
    },
  },
  'include where the .env of the project wins': {
    files: {
      'compose.yaml': 'include: [sub/a.yaml]\n',
      'sub/a.yaml': app('svc:$V'),
      'sub/.env': 'V=v1.4.2\n',
      '.env': 'V=v§',
    },
  },
  'includes in includes': {
    files: {
      'compose.yaml': 'include: [sub/a.yaml]\n',
      'sub/a.yaml': 'include: [deep/b.yaml]\n',
      'sub/deep/b.yaml': app('svc:$V'),
      'sub/.env': 'V=v§\n',
      'sub/deep/.env': 'V=v1.4.2\n',
    },
    where: 'image',
  },
  'include with a variable, a space and a quote in the path': {
    files: {
      'compose.yaml': 'include: ["${W:-sub}/x\'y é.yaml"]\n',
      "a dir/x'y é.yaml": app('svc:v§'),
      "sub/x'y é.yaml": app('svc:v1.4.2'),
      '.env': 'W=a dir',
    },
  },
  'include by an absolute path': {
    files: { 'compose.yaml': 'include: ["@root@/o/a.yaml"]\n', '../o/a.yaml': app('svc:v§') },
  },
  'include from beside the project': {
    files: {
      'compose.yaml': 'include: [../o/a.yaml]\n',
      '../o/a.yaml': app('svc:$V'),
      '../o/.env': 'V=v§',
    },
  },
  'include by an absolute path, the pin in the .env beside that file': {
    files: {
      'compose.yaml': 'include: ["@root@/o/a.yaml"]\n',
      '../o/a.yaml': app('svc:${V:?}'),
      '../o/.env': 'V=v§\n',
    },
  },
  'include by an absolute path with a directory and an env file': {
    files: {
      'compose.yaml':
        'include:\n  - path: \'@root@/o/a.yaml\'\n    project_directory: "@root@/q"\n    env_file: [@root@/e/svc.env]\n',
      '../o/a.yaml': app('svc:$V\n    env_file: app.env'),
      '../e/svc.env': 'V=v§\n',
      '../q/app.env': 'A=1\n',
    },
  },
  'include by absolute paths, nested, by way of a variable': {
    files: {
      '.env': 'DIR=@root@/o\n',
      'compose.yaml': 'include:\n  - path: ["${DIR}/a.yaml", "@root@/o/../o/over.yaml"]\n',
      '../o/a.yaml': 'include: [&deep @root@/deep/b.yaml]\nx-deep: *deep\n',
      '../o/over.yaml': 'services: {web: {image: "web:v1.4.2"}}\n',
      '../deep/b.yaml': 'services: {app: {extends: {file: "@root@/base/c.yaml", service: base}}}\n',
      '../deep/.env': 'V=v§\n',
      '../base/c.yaml': 'services: {base: {image: "svc:$V", env_file: [../o/x.env]}}\n',
      '../o/x.env': 'A=1\n',
    },
  },
  'include of an absolute path through a linked directory, a file beside it has almost its name': {
    files: {
      'compose.yaml': 'include: ["@root@/l/a.yaml"]\n',
      '../o/a.yaml': app('svc:$V\n    env_file: [.env.more]'),
      '../o/.env': 'V=v§\n',
      '../o/.env.more': 'A=1\n',
    },
    links: { '../l': 'o' },
  },
  'a file from another directory that includes by an absolute path': {
    files: {
      '../r/compose.yaml': 'include: ["@root@/o/a.yaml"]\n',
      '../o/a.yaml': 'services: {app: {image: "svc:$V", env_file: ../q/x.env}}\n',
      '../o/.env': 'V=v§\n',
      '../q/x.env': 'A=1\n',
    },
    args: ['--file', '../r/compose.yaml'],
  },
  'include of a link': {
    files: { 'compose.yaml': 'include: [link.yaml]\n', '../o/a.yaml': app('svc:v§') },
    links: { 'link.yaml': '../o/a.yaml' },
  },
  'include, the image in the override': {
    files: {
      'compose.yaml': 'include: [sub/a.yaml]\n',
      'sub/a.yaml': app('svc:v1.4.2'),
      'compose.override.yaml': app('svc:v§'),
    },
  },
  'include by two files': {
    files: {
      'compose.yaml': 'include: [sub/a.yaml]\n',
      'compose.override.yaml': 'include: [sub/a.yaml]\n',
      'sub/a.yaml': app('svc:v§'),
    },
  },
  'include written with anchors and merge keys': {
    files: {
      'compose.yaml': 'x-i: &i\n  env_file: q.env\ninclude:\n  - <<: *i\n    path: a.yaml\n',
      'a.yaml': app('svc:$V'),
      'q.env': 'V=v§',
    },
  },

  'several files in other directories': {
    files: {
      '../o/a.yaml': app('svc:v1.4.2'),
      'b.yaml': app('svc:$V'),
      '../o/.env': 'V=v1.4.2',
      '.env': 'V=v§',
    },
    args: ['--dir', '.', '--file', '../o/a.yaml', '--file', 'b.yaml'],
  },
  'several files, the links of the second from the directory of the first': {
    files: {
      'a.yaml': app('svc:v1.4.2'),
      '../o/b.yaml': 'services: {app: {extends: {file: x.yml, service: x}}}\n',
      'x.yml': 'services: {x: {image: "svc:v§"}}\n',
      '../o/x.yml': 'services: {x: {image: "svc:v1.4.2"}}\n',
    },
    args: ['--file', 'a.yaml', '--file', '../o/b.yaml'],
  },
  'COMPOSE_FILE in another directory, the .env of this one': {
    files: {
      '.env': 'COMPOSE_FILE=sub/a.yml\nV=v§\n',
      'sub/.env': 'V=v1.4.2\nNAME=svc\n',
      'sub/a.yml': 'services: {app: {extends: {file: base.yml, service: b}}}\n',
      'sub/base.yml': 'services: {b: {image: "$NAME:$V"}}\n',
      'base.yml': 'services: {b: {image: "svc:v1.4.2"}}\n',
    },
  },
  'COMPOSE_FILE and its separator in .env': {
    files: {
      '.env': 'COMPOSE_FILE=a.yml,sub/b.yml\nCOMPOSE_PATH_SEPARATOR=,\n',
      'a.yml': app('svc:v1.4.2'),
      'sub/b.yml': app('svc:v§'),
      'compose.yaml': app('svc:v1.4.2'),
    },
    where: 'image',
  },
  'docker-compose.yml and its override': {
    files: { 'docker-compose.yml': app('svc:v1.4.2'), 'docker-compose.override.yml': app('svc:v§') },
  },
  'a linked compose file and a linked .env': {
    files: { '../o/real.yaml': app('svc:$V'), 'prod.env': 'V=v§\n', '../o/.env': 'V=v1.4.2\n' },
    links: { 'compose.yaml': '../o/real.yaml', '.env': 'prod.env' },
  },

  'a merge key': one('x-b: &b\n  image: svc:v§\nservices:\n  app:\n    <<: *b\n    command: x\n'),
  'merge keys in a list, the first wins': one(
    'x-a: &a {image: "svc:v§"}\nx-b: &b {image: "svc:v1.4.2"}\nservices:\n  app:\n    <<: [*a, *b]\n',
  ),
  'merge keys in merge keys': one(
    'x-a: &a {image: "svc:v1.4.2"}\nx-b: &b\n  <<: *a\n  image: svc:v§\nservices:\n  app: {<<: *b}\n',
  ),
  'a merge key behind the image': one(
    'x-a: &a {image: "svc:v1.4.2"}\nservices:\n  app:\n    image: svc:v§\n    <<: *a\n',
  ),
  'a merge key of all services': one(
    'x-s: &s\n  app: {image: "svc:v§"}\nservices:\n  <<: *s\n  web: {image: x}\n',
  ),
  'an anchor on the text': {
    ...one('services:\n  app: {image: &i !!str "svc:v§"}\n  web: {image: *i}\n'),
    also: ['web'],
  },
  'an anchor on a whole service': one('x-a: &a\n  image: svc:v§\nservices:\n  app: *a\n'),
  'an anchor that is given twice': one(
    'x-i: &i svc:v1.4.2\nx-j: &i svc:v§\nservices:\n  app: {image: *i}\nx-k: &i svc:v1.4.2\n',
  ),
  'aliases as keys': one('x-k: &k image\nx-s: &s app\nservices:\n  *s :\n    *k : svc:v§\n'),
  'anchors on keys': one('services:\n  &k app:\n    &i image: svc:v§\n'),
  'flow style': one('{services: {app: {image: svc:v§, command: [a, "v1.4.2"]}, db: {image: pg}}}\n'),
  'JSON named YAML, with tabs': one('{\n\t"services": {\n\t\t"app": {"image": "svc:v§"}\n\t}\n}\n'),
  'JSON in one line': {
    files: { 'compose.json': '{"services":{"app":{"image":"svc:v§"}}}' },
    args: ['--file', 'compose.json'],
  },
  'several documents': one(
    '---\nservices: {app: {image: "svc:v1.4.2"}}\n---\nservices: {app: {image: "svc:v§"}}\n...\n',
  ),
  'keys with quotes and escapes': one('"services":\n  "\\x61pp":\n    \'image\': \'svc:v§\'\n'),
  'keys with question marks': one('services:\n  ? app\n  :\n    ? image\n    : svc:v§\n'),
  'a folded block': image('>-2 # svc:v1.4.2\n      svc:v§\n    command: z'),
  'a literal block': image('|-\n      svc:v§'),
  'a text under its key': image('\n      # svc:v1.4.2\n      svc:v§ # svc:v1.4.2'),
  'a verbatim tag': image('!<tag:yaml.org,2002:str> svc:v§'),
  '!override of the image': overridden(app('svc:v1.4.2'), 'services: {app: {image: !override "svc:v§"}}'),
  '!override of the service': overridden(app('svc:v1.4.2'), 'services: {app: !override {image: "svc:v§"}}'),
  '!reset, then set again': {
    files: {
      'a.yaml': app('svc:v1.4.2'),
      'b.yaml': 'services: {app: {image: !reset null, build: .}}',
      'c.yaml': app('svc:v§'),
    },
    args: ['--file', 'a.yaml', '--file', 'b.yaml', '--file', 'c.yaml'],
  },
  '!reset of another service': {
    ...overridden(`${app('svc:v1.4.2')}  web: {image: "svc:v§"}\n`, 'services: {app: !reset {}}'),
    services: ['web'],
  },
  'an image that the override makes null': overridden(app('svc:v§'), 'services: {app: {image: ~}}'),

  CRLF: image('svc:$V\r', 'A=1\r\nV=v§\r\nB=2\r\n'),
  'byte order marks': one(`\ufeff${app('svc:$V')}`, '\ufeffV=v§\n'),
  'no final newline': one(app('svc:$V').trimEnd(), 'V=v§'),
  'mixed line ends': one('services:\r\n  app:\r    image: svc:v§\n    command: x\r'),
  'tabs in comments': one('services:\t# x\n  app:\n    image: svc:v§\t# v1.4.2\t\n'),
  'letters beyond ASCII': one(
    '# ünï 😀\nx-a: "😀"\nservices:\n  app:\n    labels: {"😀": é v1.4.2}\n    image: svc:v§ # 😀\n',
    'A=😀é\n',
  ),
  'a registry with a port': image('localhost:5000/v1.4.2/svc:§-alpine'),
  'a digest': { ...image('svc:v§@sha256:¤'), args: digest },
  'a digest in the variable with the tag': { ...image('svc:$V', 'V=v§@sha256:¤'), args: digest },
  'a digest in a variable of its own, if there is one': {
    ...image('svc:$V${D:+@$D}', 'V=v§\nD=sha256:¤'),
    args: digest,
  },
  'a digest of two services': {
    ...one('services:\n  app: {image: "svc:v§@sha256:¤"}\n  worker: {image: "svc:v§@sha256:¤"}\n'),
    services: ['app', 'worker'],
    args: digest,
  },
  'a whole reference in a variable': image('$I', 'R=a/b\nT=v§\nI="r:5000/${R}:${T}"'),
  'a repository and a tag': image('${R}:${T}', 'R=r:5000/svc\nT=v§'),
  'a variable inside the tag': image('svc:v${V}-alpine', 'V=§'),
  'a variant in a variable of its own': image('svc:v§${S}', 'S=-alpine'),
  'defaults, three deep': image('svc:${A:-${B-${C:-v§}}}', 'A='),
  'defaults, one of them set': image('svc:${A:-${B-${C:-v1.4.2}}}', 'B=v§'),
  'a text for a variable that is set': image('svc:${V:+v§}', 'V=1'),
  'a required variable': image('svc:${V:?}', 'V=v§'),
  'dollars in a command': image('svc:v§\n    command: "echo $$V $${V} v1.4.2"', 'V=v1.4.2'),
  'a variable in the value of a variable': image('svc:$V', 'A=§\nV=v${A}'),
  'a default in the value of a variable': image('svc:$V', 'V=v${A:-§}'),
  'a variable in quotes': image('svc:$V', 'A=v§\nV="${A}"'),
  'single quotes and a comment': image('svc:$V', "V='v§' # v1.4.2"),
  'export, spaces, a comment': image('svc:$V', 'export V = v§ # v1.4.2\n'),
  duplicates: image('svc:$V', 'V=v1.4.2\nexport V="v§"\nV\n'),
  'several env files': {
    files: {
      'compose.yaml': app('svc:$V'),
      'a.env': 'V=v1.4.2',
      '../o/b.env': 'V=v§',
      '.env': 'V=v1.4.2',
    },
    args: ['--env-file', 'a.env', '--env-file', '../o/b.env'],
  },
  'profiles, a build, a scale': image(
    'svc:v§\n    build: .\n    profiles: [x]\n    scale: 2\n  web: {image: "svc:v1.4.2", profiles: [y]}',
  ),
  'a long name with dots': {
    ...one('services:\n  a.b_c-d.1:\n    image: svc:v§\n'),
    services: ['a.b_c-d.1'],
  },
  'the project name in the image': {
    files: {
      'compose.yaml': 'name: ${N:-abc}\ninclude: [s/a.yaml]\n',
      's/a.yaml': app('${COMPOSE_PROJECT_NAME}/svc:v§'),
    },
    where: 'image',
  },
  'the version also in a label and in the environment': image(
    'svc:$V\n    environment: {V: $V}\n    labels: ["v=$V"]',
    'V=v§',
  ),
  'a variable of two services': {
    ...one('services: {app: {image: "acme/svc:$V"}, worker: {image: "acme/worker:$V"}}\n', 'V=v§'),
    also: ['worker'],
  },
};

describe.concurrent('bump moves the version and nothing else', () => {
  it.each(Object.entries(layouts))('%s', async (_, layout) => {
    await inProject(layout, async (directory, root) => {
      const { services = ['app'], also = [] } = layout;
      const before = await imagesOf(directory, layout);
      const { exitCode, log } = await bumped(directory, layout);
      expect({ exitCode, log }).toMatchObject({ exitCode: 0 });
      expect(await textsOf(directory, layout)).toEqual(texts(layout, root, fresh));
      const after = await imagesOf(directory, layout);
      const moved = Object.entries(before).map(([name, text]) => {
        const moves = services.includes(name) || also.includes(name);
        const now = text?.replace(/(?<=:v?)1\.4\.2/, fresh.version).replace(old.digest, fresh.digest);
        return [name, moves ? now : text];
      });
      expect(after).toEqual(Object.fromEntries(moved));
      for (const name of [...services, ...also]) expect(after[name]).not.toBe(before[name]);
    });
  });
});

const byHand = 'Change the version there by hand, then docker compose pull && docker compose up -d.';
const mend = 'Mend the file until docker compose config accepts it, then run the update again.';
const mergesNone =
  'This compose merges no service with an included one of its name: move what the main file says of it to ' +
  'compose.override.yaml, which may override it, start the instance once with docker compose up -d, then run the ' +
  'update again.';
const putThere = 'Put the file there, or take the line out.';
const ownVariable = 'Give the version a variable of its own there, then run it again.';

const refusals: Record<string, [Layout, sentence: string, wayOut: string]> = {
  'several variables in one version': [
    image('svc:v${MAJOR}.${MINOR}.0', 'MAJOR=1\nMINOR=4'),
    'image of app in compose.yaml line 3 makes one tag, v1.4.0, of MAJOR and MINOR',
    'Write the tag with one variable, or change the version there by hand.',
  ],
  'a variable for the version and one for the variant': [
    image('svc:${V}${S}', 'V=v1.4.2\nS=-alpine'),
    'image of app in compose.yaml line 3 makes one tag, v1.4.2-alpine, of V and S',
    'Write the tag with one variable, or change the version there by hand.',
  ],
  'another tag': [
    image('svc:main'),
    'app is at main (image of app in compose.yaml line 3), which is no release tag',
    'Write a release tag there by hand, such as v1.2.3: from then on it can be bumped.',
  ],
  'a digest alone': [
    image('svc@sha256:¤'),
    'image of app in compose.yaml line 3 is pinned by a digest alone, which names no release',
    'Write the image as repository:vX.Y.Z@sha256:… or repository:vX.Y.Z.',
  ],
  'a digest, and no new one': [
    image('svc:v1.4.2@sha256:¤'),
    'image of app in compose.yaml line 3 also pins the digest, and the new one is not known',
    'Give the digest of the new release with --digest sha256:….',
  ],
  'a variable that is part of a path': [
    image('svc:$V\n    volumes: ["./data-$V:/data"]', 'V=v1.4.2'),
    'V in .env line 1 decides more than the version: services.app.volumes.0.source: "@root@/p/data-v1.4.2" → "@root@/p/data-v1.5.0"',
    ownVariable,
  ],
  "a variable for another publisher's image": [
    one('services: {app: {image: "acme/svc:$V"}, web: {image: "other/x:$V"}}\n', 'V=v1.4.2'),
    'V in .env line 1 decides more than the version: services.web.image: "other/x:v1.4.2" → "other/x:v1.5.0"',
    ownVariable,
  ],
  'an alias that contains itself': [
    one('services:\n  app: &a\n    image: svc:v1.4.2\n    <<: *a\n'),
    'compose.yaml line 3: an alias that contains itself',
    mend,
  ],
  'an include in a circle': [
    {
      files: {
        'compose.yaml': `include: [a.yaml]\n${app('svc:v1.4.2')}`,
        'a.yaml': 'include: [compose.yaml]\n',
      },
    },
    'compose rejects the project: include @root@/p/compose.yaml',
    mend,
  ],
  'extends in a circle': [
    one('services:\n  app: {extends: app, image: "svc:v1.4.2"}\n'),
    'compose rejects the project: extends app in @root@/p/compose.yaml',
    mend,
  ],
  'an include that is not there': [
    one('services: {app: {image: "svc:v1.4.2"}}\ninclude:\n  - sub/a.yaml\n'),
    'compose.yaml line 3: include @root@/p/sub/a.yaml does not exist',
    putThere,
  ],
  'an env file of an include that is not there': [
    {
      files: {
        'compose.yaml': 'include:\n  - path: a.yaml\n    env_file: q.env\n',
        'a.yaml': app('svc:v1.4.2'),
      },
    },
    'compose.yaml line 3: env_file of include @root@/p/q.env does not exist',
    putThere,
  ],
  'escapes in the tag': [
    image('"svc:\\x761.4.2"'),
    'image of app in compose.yaml line 3 is written with escapes or from elsewhere: its tag has no place of its own',
    byHand,
  ],
  'a line feed behind the tag': [
    image('|\n      svc:v1.4.2'),
    'image of app in compose.yaml line 4 resolves to "svc:v1.4.2⏎", which is no image reference',
    mend,
  ],
  'a reading that compose does not share': [
    one(
      'services:\n  app: {extends: base}\n  base: {image: "svc:v1.4.2"}\n---\nservices:\n  base: {image: "svc:v1.4.3"}\n',
    ),
    'compose resolves the image of app to svc:v1.4.2, image of app in compose.yaml line 6 says svc:v1.4.3',
    byHand,
  ],
  'a variable without a value': [
    image('svc:$V'),
    'image of app in compose.yaml line 3 resolves to "svc:", which is no image reference; V is not set',
    'Set V in @root@/p/.env, then run the update again.',
  ],
};

/** Services of a file and of what it includes: compose 5.2 and later merge them, an older one rejects the project. */
const merged: Record<string, Layout> = {
  'the image of both': {
    files: { 'compose.yaml': `include: [a.yaml]\n${app('svc:v§')}`, 'a.yaml': app('svc:v1.4.3') },
  },
  'the image of what is included': {
    files: {
      'compose.yaml': 'include: [a.yaml]\nservices: {app: {labels: {a: b}}}\n',
      'a.yaml': app('svc:v§'),
    },
  },
  'an image, and one that is extended': {
    files: {
      'compose.yaml': 'include: [a.yaml]\nservices: {app: {extends: base}, base: {image: "svc:v1.4.3"}}\n',
      'a.yaml': app('svc:v§'),
    },
  },
  'an image of each of two': {
    files: {
      'compose.yaml': 'include: [a.yaml, b.yaml]\nservices: {app: {labels: {a: b}}}\n',
      'a.yaml': app('svc:v§'),
      'b.yaml': app('svc:v1.4.3'),
    },
  },
  'an image, and one that is to replace what earlier files say': {
    files: {
      'compose.yaml': app('svc:v1.4.3'),
      'compose.override.yaml': 'include: [a.yaml]\nservices: {app: !override {labels: {a: b}}}\n',
      'a.yaml': app('svc:v§'),
    },
  },
};

describe.concurrent('a service that is included and written is bumped as compose reads it', () => {
  const both = (['image', 'host'] as const).map((where) =>
    Object.entries(merged).map((row) => [where, ...row] as const),
  );
  it.each(both.flat())('%s: %s', async (where, _, layout) => {
    await inProject(layout, async (directory, root) => {
      const before = await imageBy(where, directory);
      const { exitCode, log } = await bumped(directory, { ...layout, where });
      if (before === null) {
        expect({ exitCode, log }).toMatchObject({ exitCode: 3, log: expect.stringContaining(mergesNone) });
        expect(log).toContain('compose rejects the project: services.app conflicts with imported resource');
        expect(await textsOf(directory, layout)).toEqual(texts(layout, root, old));
      } else {
        expect(before).toBe(`svc:v${old.version}`);
        expect({ exitCode, log }).toMatchObject({ exitCode: 0 });
        expect(await textsOf(directory, layout)).toEqual(texts(layout, root, fresh));
        expect(await imageBy(where, directory)).toBe(`svc:v${fresh.version}`);
      }
    });
  });
});

describe.concurrent('bump refuses, says where and what to do, and writes nothing', () => {
  it.each(Object.entries(refusals))('%s', async (_, [layout, sentence, wayOut]) => {
    await inProject(layout, async (directory, root) => {
      const { exitCode, log } = await bumped(directory, layout);
      const lines = log
        .split('\n')
        .map((line) =>
          line.replace(/^\S+ (?=ERROR)/, '').replace(/(?<=^ERROR done refused )\([a-z-]+\)/, '(code)'),
        );
      expect({ exitCode, said: lines.slice(-2) }).toEqual({
        exitCode: 3,
        said: [
          `ERROR plan ${sentence.replaceAll('@root@', root)}`,
          `ERROR done refused (code): nothing was changed. Next: ${wayOut.replaceAll('@root@', root)}`,
        ],
      });
      expect(await textsOf(directory, layout)).toEqual(texts(layout, root, old));
    });
  });
});

function inProject(layout: Layout, use: (directory: string, root: string) => Promise<void>): Promise<void> {
  return inDirectory(async (root) => {
    const directory = `${root}/p`;
    await mkdir(directory);
    for (const [name, text] of Object.entries(texts(layout, root, old))) {
      const path = resolve(directory, name);
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, text);
    }
    for (const [name, target] of Object.entries(layout.links ?? {})) {
      await symlink(target, resolve(directory, name));
    }
    await use(directory, root);
  });
}

function texts({ files }: Layout, root: string, { version, digest }: Stand): Record<string, string> {
  const filled = Object.entries(files).map(([name, text]) => [
    name,
    text.replaceAll('§', version).replaceAll('¤', digest).replaceAll('@root@', root),
  ]);
  return Object.fromEntries(filled);
}

async function textsOf(directory: string, { files }: Layout): Promise<Record<string, string>> {
  const read = Object.keys(files).map(async (name) => [
    name,
    await readFile(resolve(directory, name), 'utf8'),
  ]);
  return Object.fromEntries(await Promise.all(read));
}

function bumped(directory: string, { services = ['app'], args = [], where = 'host' }: Layout) {
  const asked = services.flatMap((name) => ['--service', name]);
  return bump(directory, ['--to', `v${fresh.version}`, ...asked, ...args], where);
}

/**
 * The image of the app, by the compose that the bump has; null where it rejects the project. On the host the bump has a
 * client configuration of its own, and so perhaps another plugin than whoever types the command.
 */
async function imageBy(where: Where, directory: string): Promise<string | null> {
  const asked = ['compose', 'config', '--format', 'json'];
  const inside = ['--rm', '--network', 'none', '-v', `${directory}:${directory}`, '-w', directory];
  const command =
    where === 'host'
      ? ['--config', `${directory}/none`, ...asked]
      : ['run', ...inside, '--entrypoint', 'docker', updaterImage, ...asked];
  const { exitCode, stdout } = await execa('docker', command, { cwd: directory, reject: false });
  return exitCode === 0 ? JSON.parse(stdout).services.app.image : null;
}

/** Compose's own answer, asked the way a person would. */
async function imagesOf(
  directory: string,
  { args = [] }: Layout,
): Promise<Record<string, string | undefined>> {
  const flags = args.map((arg) => (arg === '--dir' ? '--project-directory' : arg)).filter(isForCompose);
  const { stdout } = await execa(
    'docker',
    ['compose', ...flags, '--profile', '*', 'config', '--no-consistency', '--format', 'json'],
    { cwd: directory, env: { PATH: process.env.PATH, HOME: homedir() }, extendEnv: false },
  );
  const { services } = JSON.parse(stdout) as { services: Record<string, { image?: string }> };
  return Object.fromEntries(Object.entries(services).map(([name, service]) => [name, service.image]));
}

const isForCompose = (arg: string): boolean => !digest.includes(arg);
