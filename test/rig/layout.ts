import { type ComposeText, clusterCompose, composeText, generatedCompose } from './compose-text.ts';

/** The values in the texts of an instance. */
export interface LayoutContext {
  /** The repository of app and worker, including the registry. */
  image: string;
  parts: string;
  port: number;
  /** The first tag of the instance. */
  tag: string;
  /** Additional parts of the compose files. */
  text?: Partial<ComposeText>;
}

/** Files of a compose directory, and the flags that select them. */
export interface Layout {
  files: Record<string, string>;
  flags: string[];
}

const settings = ({ image, parts, port }: LayoutContext) => `# Settings of this instance
SVC_HOST=svc.example.org
DB_PASSWORD='correct horse battery'
SVC_IMAGE=${image}
SVC_PARTS=${parts}
SVC_PORT=${port}
`;

const version = ({ tag }: LayoutContext) => `SVC_VERSION=${tag}\n`;
const head = '# Written by hand; do not reformat.\n';

/** Kinds of installs: files in the directory, and flags of the commands. */
export const layouts = {
  /** `compose.prod.yaml`, pinned by SVC_VERSION in `.env`. */
  variable: (c) => ({
    files: {
      'compose.prod.yaml': composeText({
        head,
        app: `${c.image}:\${SVC_VERSION}`,
        parts: c.parts,
        ...c.text,
      }),
      '.env': settings(c) + version(c),
    },
    flags: ['-f', 'compose.prod.yaml'],
  }),
  /** Tags in the compose file itself, one plain and one quoted. */
  inline: (c) => ({
    files: {
      'compose.yaml': composeText({
        head,
        app: `${c.image}:${c.tag}  # the app`,
        worker: `'${c.image}:${c.tag}'`,
        parts: c.parts,
        ...c.text,
      }),
      '.env': settings(c),
    },
    flags: [],
  }),
  /** `${SVC_VERSION:-latest}` and no SVC_VERSION anywhere. */
  'default-latest': (c) => ({
    files: {
      'compose.yaml': composeText({
        head,
        app: `${c.image}:\${SVC_VERSION:-latest}`,
        parts: c.parts,
        ...c.text,
      }),
      '.env': settings(c),
    },
    flags: [],
  }),
  /** The tag is the default of a variable that is not set. */
  'default-tag': (c) => ({
    files: {
      'compose.yaml': composeText({
        head,
        app: `${c.image}:\${SVC_VERSION:-${c.tag}}`,
        parts: c.parts,
        ...c.text,
      }),
      '.env': settings(c),
    },
    flags: [],
  }),
  /** The second of two files sets the images. */
  'two-files': (c) => ({
    files: {
      'compose.yaml': composeText({ head, app: `${c.image}:not-this-one`, parts: c.parts, ...c.text }),
      'compose.site.yaml': `# This site's own.
services:
  app:
    image: "${c.image}:${c.tag}"
  worker:
    image: "${c.image}:${c.tag}"
`,
      '.env': settings(c),
    },
    flags: ['-f', 'compose.yaml', '-f', 'compose.site.yaml'],
  }),
  /** Two `--env-file`s and no `.env`. */
  'env-file': (c) => ({
    files: {
      'compose.yaml': composeText({ head, app: `${c.image}:\${SVC_VERSION}`, parts: c.parts, ...c.text }),
      'base.env': settings(c),
      'prod.env': version(c),
    },
    flags: ['--env-file', 'base.env', '--env-file', 'prod.env'],
  }),
  generated: (c) => ({
    files: { 'compose.yaml': generatedCompose(c.tag, c.text), '.env': settings(c) + version(c) },
    flags: [],
  }),
  /** Cluster mode: the second file over the first. */
  cluster: (c) => ({
    files: {
      'compose.yaml': generatedCompose(c.tag, c.text),
      'compose.cluster.yaml': clusterCompose(c.tag, c.text),
      '.env': settings(c) + version(c),
    },
    flags: ['-f', 'compose.yaml', '-f', 'compose.cluster.yaml'],
  }),
  'cluster-only': (c) => ({
    files: { 'compose.cluster.yaml': clusterCompose(c.tag, c.text), '.env': settings(c) + version(c) },
    flags: ['-f', 'compose.cluster.yaml'],
  }),
} as const satisfies Record<string, (context: LayoutContext) => Layout>;

export type Kind = keyof typeof layouts;
