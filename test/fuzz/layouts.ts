// biome-ignore-all lint/suspicious/noTemplateCurlyInString: compose's own variables
import fc from 'fast-check';
import { applyTextEdits } from '../../src/core/compose/edit.ts';
import { requirePin } from '../../src/core/compose/pins/find-pin.ts';
import { planPinEdits } from '../../src/core/compose/pins/plan-pin-edits.ts';
import type { ProjectFiles } from '../../src/core/compose/project-files.ts';
import { movedTag, plannedTarget } from '../core/compose/pins/updated-tag.ts';
import { mutatedText } from './mutate.ts';

/** Files by path below `/srv`. */
export type Layout = Record<string, string>;

/** The services `app` and `worker` at a version, written in one of many ways. */
export type Write = (version: string) => Layout;

export const version = fc
  .tuple(fc.nat({ max: 30 }), fc.nat({ max: 30 }), fc.nat({ max: 30 }))
  .map((parts) => parts.join('.'));

/** The digest of a release. */
export const digestOf = (v: string) => `sha256:${v.replaceAll('.', '').padStart(64, 'a')}`;

const places: Record<string, (version: string) => { image: string; env?: string; head?: string }> = {
  literal: (v) => ({ image: `ghcr.io/acme/svc:v${v}` }),
  bare: (v) => ({ image: `127.0.0.1:5000/svc:${v}-alpine` }),
  single: (v) => ({ image: `'svc:v${v}'` }),
  double: (v) => ({ image: `"svc:v${v}"` }),
  block: (v) => ({ image: `>- # 0.0.0\n      svc:v${v}` }),
  variable: (v) => ({ image: '${V}', env: `V=svc:v${v}` }),
  tag: (v) => ({ image: 'svc:$V', env: `V=v${v}` }),
  part: (v) => ({ image: 'svc:v${V}-slim', env: `V="${v}" # 0.0.0` }),
  default: (v) => ({ image: `svc:$\{V:-v${v}}` }),
  nested: (v) => ({ image: `$\{I:-svc:$\{V-$\{W:-v${v}}}}` }),
  shadowed: (v) => ({ image: 'svc:${V:-v0.0.0}', env: `V=v0.0.0\nV=v${v}` }),
  digest: (v) => ({ image: `svc:v${v}@${digestOf(v)}` }),
  digests: (v) => ({ image: 'svc:$V@${HASH}', env: `HASH=${digestOf(v)}\nV=v${v}` }),
  through: (v) => ({ image: 'svc:$V', env: `W='${v}'\nV="v$\{W}"` }),
  anchor: (v) => ({ image: '*image', head: `x-image: &image svc:v${v}` }),
};

/** Adds files around the file with the images, which must not override the images. */
const roundabout: Record<string, (compose: string) => Layout> = {
  alone: (text) => ({ 'compose.yaml': text }),
  override: (text) => ({
    'compose.yaml': 'services: {app: {image: "svc:v1.0.0"}, worker: {image: "svc:v1.0.0"}}',
    'compose.override.yaml': text,
  }),
  overridden: (text) => ({
    'compose.yaml': text,
    'compose.override.yaml': 'services: {app: {command: v1.0.0}, worker: {init: true}}',
  }),
  include: (text) => ({ 'compose.yaml': 'include: [sub/linked.yaml]', 'sub/linked.yaml': text }),
  extends: (text) => ({
    'compose.yaml': `services:
  app: {extends: {file: sub/linked.yaml, service: app}}
  worker: {extends: {file: sub/linked.yaml, service: worker}}`,
    'sub/linked.yaml': text,
  }),
  both: (text) => ({
    'compose.yaml': 'include: [{path: [a.linked.yaml, sub/b.linked.yaml], project_directory: .}]',
    'a.linked.yaml': 'services: {app: {image: "svc:v1.0.0"}, worker: {image: "svc:v1.0.0"}}',
    'sub/b.linked.yaml': `services:
  app: {extends: {file: sub/c.linked.yaml, service: app}}
  worker: {extends: {file: sub/c.linked.yaml, service: worker}}`,
    'sub/c.linked.yaml': text,
  }),
};

const noise = fc.array(
  fc.constantFrom(
    '',
    '# comment v1.0.0',
    '#\ttab 😀 ünï',
    'x-a: {image: "svc:v1.0.0"}',
    'x-b: [1, 2]',
    "x-c: 'it''s'",
    'x-d: |\n  text v1.0.0',
  ),
  { maxLength: 3 },
);
const envNoise = fc.array(
  fc.constantFrom('', '# V=v1.0.0', 'A="multi\nline V=v1.0.0"', "B='x' # y", 'export C=v1.0.0', 'D: v1.0.0'),
  { maxLength: 4 },
);

export const layout: fc.Arbitrary<Write> = fc
  .record({
    place: fc.constantFrom(...Object.keys(places)),
    round: fc.constantFrom(...Object.keys(roundabout)),
    comment: fc.constantFrom('', ' # v1.0.0', '  '),
    above: noise,
    env: fc.tuple(envNoise, envNoise),
    end: fc.constantFrom('\n', '\r\n'),
    final: fc.boolean(),
    bom: fc.constantFrom('', '\ufeff'),
  })
  .map(({ place, round, comment, above, env, end, final, bom }) => (text) => {
    const pinned = places[place]?.(text) ?? { image: '' };
    // A key may occur only once.
    const lines = [
      ...new Set(above),
      ...(pinned.head ? [pinned.head] : []),
      'services:',
      '  app:',
      `    image: ${pinned.image}${place === 'block' ? '' : comment}`,
      '    restart: always',
      '  worker:',
      '    command: [v1.0.0]',
      `    image: ${pinned.image}`,
    ];
    const write = (parts: string[]) => `${bom}${parts.join('\n')}${final ? '\n' : ''}`.replaceAll('\n', end);
    return {
      ...roundabout[round]?.(write(lines)),
      '.env': write([...env[0], ...(pinned.env ? [pinned.env] : []), ...env[1]]),
    };
  });

export function project(texts: Layout): ProjectFiles {
  const files = Object.entries(texts).map(([name, text]) => ({ path: `/srv/${name}`, text }));
  const ofKind = (kind: RegExp) => files.filter(({ path }) => kind.test(path));
  return {
    composeFiles: ofKind(/\/compose\./),
    envFiles: ofKind(/env$/),
    newEnvFile: '/srv/.env',
    linkedFiles: ofKind(/linked/),
  };
}

export function bump(before: Layout, to: string): Layout {
  const target = plannedTarget(`v${to}`);
  const files = project(before);
  const moves = ['app', 'worker']
    .map((service) => requirePin(files, service))
    .map((pin) => ({ pin, tag: movedTag(pin.tag, target), digest: digestOf(to) }));
  const edits = planPinEdits(files, moves);
  const edited = Object.entries(before).map(([name, text]) => [
    name,
    applyTextEdits(
      text,
      edits.filter(({ file }) => file === `/srv/${name}`),
    ),
  ]);
  return Object.fromEntries(edited);
}

/** Variants that people also write, in place of a part of a layout. */
const twists: readonly (readonly [from: string, to: string])[] = [
  ...([
    ['', ''],
    ['svc:', 'svc$V:'],
    ['svc:', '${V}/svc:'],
    ['svc:', 'svc:${V}-'],
    ['V=', 'X=$V\nV='],
  ] as const),
  ...([
    ['command: v1.0.0', 'image: !reset null'],
    ['  app:\n', '  app: &self\n    <<: *self\n'],
  ] as const),
  ...([
    ['[v1.0.0]', '[\nv1.0.0\n]'],
    ['    restart: always', '    labels: {a: "$V"}'],
    ['[v1.0.0]', '['.repeat(9_000)],
  ] as const),
];

/** A layout that a user has edited, possibly with mistakes. */
export const mutatedLayout: fc.Arbitrary<Layout> = fc
  .tuple(layout, version, fc.constantFrom(...twists))
  .chain(([write, v, [from, to]]) =>
    fc.tuple(
      ...Object.entries(write(v)).map(([name, text]) => {
        const twisted = fc.constant(from === '' ? text : text.replaceAll(from, to));
        return fc.tuple(fc.constant(name), fc.oneof(twisted, mutatedText(twisted, words)));
      }),
    ),
  )
  .map((files) => Object.fromEntries(files));

const words = [
  ...[
    'services:',
    'image: ',
    'image: svc:v9',
    'extends: app',
    'extends: {service: worker}',
    'include: [x.yaml]',
  ],
  ...[
    '  app:\n',
    '  other: {image: "svc:$V"}\n',
    '  other: {image: redis}\n',
    '    image: *image\n',
    '    <<: *image\n',
  ],
  ...[
    'build: .',
    '!reset ',
    '!override ',
    '&a ',
    '*a',
    '<<: *a',
    '---\n',
    '...\n',
    '? ',
    '- ',
    '|',
    '>-',
    '{',
    '}',
  ],
  ...[
    '[',
    ']',
    ': ',
    ' #',
    "'",
    '"',
    '\t',
    '${V}',
    '${V:-v2}',
    '$$',
    '__proto__: 1\n',
    '  ',
    '\r',
    '\\x41',
    'v1.0.0',
  ],
];
