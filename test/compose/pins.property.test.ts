// biome-ignore-all lint/suspicious/noTemplateCurlyInString: compose's own variables
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { applyEdits } from '../../src/compose/edit.ts';
import { findPin } from '../../src/compose/find-pin.ts';
import { pinEdits } from '../../src/compose/pin-edits.ts';
import type { ProjectFiles } from '../../src/compose/project-files.ts';
import { movedTag, plannedTarget } from './moved-tag.ts';

/** Files by their paths from `/srv`. */
type Layout = Record<string, string>;

/** The services `app` and `worker` at a version, written in one of many ways; where the version is not, nothing is. */
type Write = (version: string) => Layout;

const version = fc
  .tuple(fc.nat({ max: 30 }), fc.nat({ max: 30 }), fc.nat({ max: 30 }))
  .map((parts) => parts.join('.'));

/** The digest of a release. */
const digestOf = (v: string) => `sha256:${v.replaceAll('.', '').padStart(64, 'a')}`;

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

/** Files round the one that says the images: what they say of images does not win. */
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

const layout: fc.Arbitrary<Write> = fc
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
    // A key may stand once only.
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

function project(texts: Layout): ProjectFiles {
  const files = Object.entries(texts).map(([name, text]) => ({ path: `/srv/${name}`, text }));
  const ofKind = (kind: RegExp) => files.filter(({ path }) => kind.test(path));
  return {
    composeFiles: ofKind(/\/compose\./),
    envFiles: ofKind(/env$/),
    newEnvFile: '/srv/.env',
    linkedFiles: ofKind(/linked/),
  };
}

function bump(before: Layout, to: string): Layout {
  const target = plannedTarget(`v${to}`);
  const files = project(before);
  const moves = ['app', 'worker']
    .map((service) => findPin(files, service))
    .map((pin) => ({ pin, tag: movedTag(pin.tag, target), digest: digestOf(to) }));
  const edits = pinEdits(files, moves);
  const edited = Object.entries(before).map(([name, text]) => [
    name,
    applyEdits(
      text,
      edits.filter(({ file }) => file === `/srv/${name}`),
    ),
  ]);
  return Object.fromEntries(edited);
}

describe('moving pins, however the files are written', () => {
  it('changes the version text and nothing else', () => {
    fc.assert(
      fc.property(layout, version, version, (write, from, to) => {
        expect(bump(write(from), to)).toEqual(write(to));
      }),
      { numRuns: 1000 },
    );
  });

  it('twice is once, and there and back is where it was', () => {
    fc.assert(
      fc.property(layout, version, version, (write, from, to) => {
        const there = bump(write(from), to);
        expect(bump(there, to)).toEqual(there);
        expect(bump(there, from)).toEqual(write(from));
      }),
      { numRuns: 300 },
    );
  });

  it('moves many services at once', () => {
    const count = 1000;
    const services = Array.from(
      { length: count },
      (_, i) => `  s${i}:\n    image: svc:\${V${i % 7 === 0 ? i : ''}:-v1.0.0}\n    restart: always\n`,
    );
    const env = Array.from({ length: 10_000 }, (_, i) => `K${i}=value ${i}\n`);
    const files = project({
      'compose.yaml': `services:\n${services.join('')}`,
      '.env': `${env.join('')}V=v1.0.0\n`,
    });
    const pins = Array.from({ length: count }, (_, i) => findPin(files, `s${i}`));
    expect(
      pinEdits(
        files,
        pins.map((pin) => ({ pin, tag: 'v1.5.0' })),
      ),
    ).toHaveLength(Math.ceil(count / 7) + 1);
  });
});
