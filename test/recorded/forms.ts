// biome-ignore-all lint/suspicious/noTemplateCurlyInString: compose's own variables
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { planBump } from '../../src/updater/compose/bump/plan-bump.ts';
import { readBumpProject } from '../../src/updater/compose/bump/read-bump-project.ts';
import { bumpOptions, rememberingLog } from '../build-plan.ts';
import { inDirectory } from '../e2e/support/bump.ts';
import { type ComposeAnswer, RecordedEngine } from './recorded-engine.ts';
import { Recording } from './recording.ts';

/** In texts and arguments, `§` is the version, `¤` the hex part of a digest, `@root@` the parent directory. */
export interface Layout {
  /** Contents by paths relative to the project directory. */
  files: Record<string, string>;
  links?: Record<string, string>;
  args?: string[];
  services?: string[];
  /** Other services that share the pin. */
  also?: string[];
}

interface Stand {
  version: string;
  digest: string;
}

export const old: Stand = { version: '1.4.2', digest: 'a'.repeat(64) };
export const fresh: Stand = { version: '1.5.0', digest: 'b'.repeat(64) };

const app = (image: string) => `services:\n  app:\n    image: ${image}\n`;
const one = (text: string, env?: string): Layout => ({
  files: { 'compose.yaml': text, ...(env === undefined ? {} : { '.env': env }) },
});
const image = (text: string, env?: string): Layout => one(app(text), env);
const overridden = (text: string, override: string): Layout => ({
  files: { 'compose.yaml': text, 'compose.override.yaml': override },
});
const digest = ['--digest', `sha256:${fresh.digest}`];

export const layouts: Record<string, Layout> = {
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
  'extends of a file whose own includes do not count': {
    files: {
      'compose.yaml': 'services: {app: {extends: {file: b.yml, service: web}}}\n',
      'b.yml': 'include: [nope.yml]\nservices: {web: {image: "svc:v§"}}\n',
    },
  },

  'include, short': {
    files: { 'compose.yaml': 'include:\n  - sub/a.yaml\n', 'sub/a.yaml': app('svc:v§') },
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
  'includes in includes': {
    files: {
      'compose.yaml': 'include: [sub/a.yaml]\n',
      'sub/a.yaml': 'include: [deep/b.yaml]\n',
      'sub/deep/b.yaml': app('svc:$V'),
      'sub/.env': 'V=v§\n',
      'sub/deep/.env': 'V=v1.4.2\n',
    },
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
  },
  'a linked compose file and a linked .env': {
    files: { '../o/real.yaml': app('svc:$V'), 'prod.env': 'V=v§\n', '../o/.env': 'V=v1.4.2\n' },
    links: { 'compose.yaml': '../o/real.yaml', '.env': 'prod.env' },
  },

  'merge keys in merge keys': one(
    'x-a: &a {image: "svc:v1.4.2"}\nx-b: &b\n  <<: *a\n  image: svc:v§\nservices:\n  app: {<<: *b}\n',
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
  'JSON in one line': {
    files: { 'compose.json': '{"services":{"app":{"image":"svc:v§"}}}' },
    args: ['--file', 'compose.json'],
  },
  'several documents': one(
    '---\nservices: {app: {image: "svc:v1.4.2"}}\n---\nservices: {app: {image: "svc:v§"}}\n...\n',
  ),
  'keys with question marks': one('services:\n  ? app\n  :\n    ? image\n    : svc:v§\n'),
  'a folded block': image('>-2 # svc:v1.4.2\n      svc:v§\n    command: z'),
  'a literal block': image('|-\n      svc:v§'),
  'a text under its key': image('\n      # svc:v1.4.2\n      svc:v§ # svc:v1.4.2'),
  'a verbatim tag': image('!<tag:yaml.org,2002:str> svc:v§'),
  '!override of the image': overridden(app('svc:v1.4.2'), 'services: {app: {image: !override "svc:v§"}}'),
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
  'letters beyond ASCII': one(
    '# ünï 😀\nx-a: "😀"\nservices:\n  app:\n    labels: {"😀": é v1.4.2}\n    image: svc:v§ # 😀\n',
    'A=😀é\n',
  ),
  'a registry with a port': image('localhost:5000/v1.4.2/svc:§-alpine'),
  'a digest': { ...image('svc:v§@sha256:¤'), args: digest },
  'a digest in a variable of its own, if there is one': {
    ...image('svc:$V${D:+@$D}', 'V=v§\nD=sha256:¤'),
    args: digest,
  },
  'a whole reference in a variable': image('$I', 'R=a/b\nT=v§\nI="r:5000/${R}:${T}"'),
  'a variant in a variable of its own': image('svc:v§${S}', 'S=-alpine'),
  'defaults, three deep': image('svc:${A:-${B-${C:-v§}}}', 'A='),
  'a text for a variable that is set': image('svc:${V:+v§}', 'V=1'),
  'a variable in the value of a variable': image('svc:$V', 'A=§\nV=v${A}'),
  'a variable in quotes': image('svc:$V', 'A=v§\nV="${A}"'),
  'export, spaces, a comment': image('svc:$V', 'export V = v§ # v1.4.2\n'),
  'several env files': {
    files: {
      'compose.yaml': app('svc:$V'),
      'a.env': 'V=v1.4.2',
      '../o/b.env': 'V=v§',
      '.env': 'V=v1.4.2',
    },
    args: ['--env-file', 'a.env', '--env-file', '../o/b.env'],
  },
  'the project name in the image': {
    files: {
      'compose.yaml': 'name: ${N:-abc}\ninclude: [s/a.yaml]\n',
      's/a.yaml': app('${COMPOSE_PROJECT_NAME}/svc:v§'),
    },
  },
  'the version also in a label and in the environment': image(
    'svc:$V\n    environment: {V: $V}\n    labels: ["v=$V"]',
    'V=v§',
  ),
  'a variable of two services': {
    ...one('services: {app: {image: "acme/svc:$V"}, worker: {image: "acme/worker:$V"}}\n', 'V=v§'),
    also: ['worker'],
  },

  // A service in a file and in an included file: compose 5.2 and later merge both, older versions reject the project.
  'included and written: the image of both': {
    files: { 'compose.yaml': `include: [a.yaml]\n${app('svc:v§')}`, 'a.yaml': app('svc:v1.4.3') },
  },
  'included and written: the image of what is included': {
    files: {
      'compose.yaml': 'include: [a.yaml]\nservices: {app: {labels: {a: b}}}\n',
      'a.yaml': app('svc:v§'),
    },
  },
  'included and written: an image, and one that is extended': {
    files: {
      'compose.yaml': 'include: [a.yaml]\nservices: {app: {extends: base}, base: {image: "svc:v1.4.3"}}\n',
      'a.yaml': app('svc:v§'),
    },
  },
  'included and written: an image of each of two': {
    files: {
      'compose.yaml': 'include: [a.yaml, b.yaml]\nservices: {app: {labels: {a: b}}}\n',
      'a.yaml': app('svc:v§'),
      'b.yaml': app('svc:v1.4.3'),
    },
  },
  'included and written: an image, and one that is to replace what earlier files say': {
    files: {
      'compose.yaml': app('svc:v1.4.3'),
      'compose.override.yaml': 'include: [a.yaml]\nservices: {app: !override {labels: {a: b}}}\n',
      'a.yaml': app('svc:v§'),
    },
  },
};

/** Forms that compose can only read in the directory of the instance. */
export const withoutSecrets: Record<string, Layout> = {
  'secrets and env files that are not here': {
    files: {
      'compose.yaml': [
        app('svc:${V:-v§}'),
        '    env_file: [secrets.env, {path: ./more.env, required: false}]\n',
        '    environment: {PASSWORD: "${PASSWORD:?set it}", KEY: "${KEY?}"}\n',
        '    ports: ["${PORT:?}:80"]\n',
        '  db: {image: "postgres:16", env_file: "${DIR:?}/db.env"}\n',
      ].join(''),
      '.env': 'PORT=\n',
    },
  },
};

const byHand =
  'Change the version in the file manually, then run docker compose pull && docker compose up -d.';
const mend = 'Fix the file until docker compose config accepts it, then run the update again.';
const putThere = 'Create the file, or remove the line.';
const ownVariable = 'Use a separate variable for the image version, then run the command again.';

/** Layouts that bump rejects, with the message and the advice. */
export const refusals: Record<string, [Layout, sentence: string, wayOut: string]> = {
  'a variable that is part of a path': [
    image('svc:$V\n    volumes: ["./data-$V:/data"]', 'V=v1.4.2'),
    'changing V in .env line 1 would affect more than the version: services.app.volumes.0.source: "@root@/p/data-v1.4.2" → "@root@/p/data-v1.5.0"',
    ownVariable,
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
  'an include that is not there': [
    one('services: {app: {image: "svc:v1.4.2"}}\ninclude:\n  - sub/a.yaml\n'),
    'compose.yaml line 3: include @root@/p/sub/a.yaml does not exist',
    putThere,
  ],
  'a line feed behind the tag': [
    image('|\n      svc:v1.4.2'),
    'image of app in compose.yaml line 4 resolves to "svc:v1.4.2⏎", which is not an image reference',
    mend,
  ],
  'a reading that compose does not share': [
    one(
      'services:\n  app: {extends: base}\n  base: {image: "svc:v1.4.2"}\n---\nservices:\n  base: {image: "svc:v1.4.3"}\n',
    ),
    'compose resolves the image of app to svc:v1.4.2, but image of app in compose.yaml line 6 resolves to svc:v1.4.3',
    byHand,
  ],
};

const recording = new Recording<ComposeAnswer>('forms');
export const writeRecording = () => recording.write();

/** Runs bump on the files in a directory, with compose if `live`, otherwise with its recorded results. */
export async function bumpHere(row: string, layout: Layout, root: string, live = false): Promise<void> {
  const { services = ['app'], args = [] } = layout;
  process.chdir(`${root}/p`);
  const asked = services.flatMap((name) => ['--service', name]);
  const options = bumpOptions('--to', `v${fresh.version}`, ...asked, ...args);
  const { log } = rememberingLog();
  const engine = new RecordedEngine({ recording, row, root, live });
  const { draft } = await planBump(await readBumpProject(options, log), engine, options, log);
  for (const { path, after } of draft.changes) await writeFile(path, after);
}

/** Writes the files of a layout to a directory below `root`, and removes `root` after `use`. */
export function inProject(
  layout: Layout,
  use: (directory: string, root: string) => Promise<void>,
): Promise<void> {
  return inDirectory(async (root) => {
    const directory = `${root}/p`;
    await mkdir(directory);
    for (const [name, text] of Object.entries(textsOf(layout, root, old))) {
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

/** The texts of a layout, before and after the bump. */
export function textsOf({ files }: Layout, root: string, { version, digest }: Stand): Record<string, string> {
  const filled = Object.entries(files).map(([name, text]) => [
    name,
    text.replaceAll('§', version).replaceAll('¤', digest).replaceAll('@root@', root),
  ]);
  return Object.fromEntries(filled);
}

export async function readTexts(directory: string, { files }: Layout): Promise<Record<string, string>> {
  const read = Object.keys(files).map(async (name) => [
    name,
    await readFile(resolve(directory, name), 'utf8'),
  ]);
  return Object.fromEntries(await Promise.all(read));
}
