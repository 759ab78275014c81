// biome-ignore-all lint/suspicious/noTemplateCurlyInString: compose's own variables
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { applyEdits } from '../../src/compose/edit.ts';
import { findPin, pinEdits } from '../../src/compose/pins.ts';
import type { ProjectFiles } from '../../src/compose/text-file.ts';
import { parseTarget, retag } from '../../src/release/tag.ts';

interface Layout {
  compose: string;
  env: string;
}

/** The services `app` and `worker` at a version, written in one of many ways; where the version is not, nothing is. */
type Write = (version: string) => Layout;

const version = fc
  .tuple(fc.nat({ max: 30 }), fc.nat({ max: 30 }), fc.nat({ max: 30 }))
  .map((parts) => parts.join('.'));

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
  anchor: (v) => ({ image: '*image', head: `x-image: &image svc:v${v}` }),
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
    comment: fc.constantFrom('', ' # v1.0.0', '  '),
    above: noise,
    env: fc.tuple(envNoise, envNoise),
    end: fc.constantFrom('\n', '\r\n'),
    final: fc.boolean(),
    bom: fc.constantFrom('', '\ufeff'),
  })
  .map(({ place, comment, above, env, end, final, bom }) => (text) => {
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
    return { compose: write(lines), env: write([...env[0], ...(pinned.env ? [pinned.env] : []), ...env[1]]) };
  });

const project = ({ compose, env }: Layout): ProjectFiles => ({
  composeFiles: [{ path: '/srv/compose.yaml', text: compose }],
  envFiles: [{ path: '/srv/.env', text: env }],
  newEnvFile: '/srv/.env',
});

function bump(before: Layout, to: string): Layout {
  const target = parseTarget(`v${to}`);
  if (!target) throw new Error(`v${to} is no target`);
  const files = project(before);
  const moves = ['app', 'worker']
    .map((service) => findPin(files, service))
    .map((pin) => ({ pin, tag: retag(pin.tag, target) }));
  const edits = pinEdits(files, moves);
  const edited = (path: string, text: string) =>
    applyEdits(
      text,
      edits.filter(({ file }) => file === path),
    );
  return { compose: edited('/srv/compose.yaml', before.compose), env: edited('/srv/.env', before.env) };
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
    const files = project({ compose: `services:\n${services.join('')}`, env: `${env.join('')}V=v1.0.0\n` });
    const pins = Array.from({ length: count }, (_, i) => findPin(files, `s${i}`));
    expect(
      pinEdits(
        files,
        pins.map((pin) => ({ pin, tag: 'v1.5.0' })),
      ),
    ).toHaveLength(Math.ceil(count / 7) + 1);
  });
});
