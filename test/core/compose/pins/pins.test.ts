// biome-ignore-all lint/suspicious/noTemplateCurlyInString: compose's own variables
import { describe, expect, it } from 'vitest';
import { applyTextEdits } from '../../../../src/core/compose/edit.ts';
import { requirePin } from '../../../../src/core/compose/pins/find-pin.ts';
import { planPinEdits } from '../../../../src/core/compose/pins/plan-pin-edits.ts';
import type { ProjectFiles } from '../../../../src/core/compose/project-files.ts';
import { movedTag, plannedTarget } from './updated-tag.ts';

const digests = { old: `sha256:${'a'.repeat(64)}`, new: `sha256:${'b'.repeat(64)}` };

/** Files by name. Names of env files end in `env`. */
function project(texts: Record<string, string>, linked: string[] = []): ProjectFiles {
  const files = Object.entries(texts).map(([name, text]) => ({ path: `/srv/svc/${name}`, text }));
  return {
    composeFiles: files.filter(
      ({ path }) => !path.endsWith('env') && !linked.some((name) => path.endsWith(name)),
    ),
    envFiles: files.filter(({ path }) => path.endsWith('env')),
    newEnvFile: '/srv/svc/.env',
    linkedFiles: files.filter(({ path }) => linked.some((name) => path.endsWith(name))),
  };
}

/** The texts of the files that an update changes, by file name. */
function move(files: ProjectFiles, to: string, services = ['app'], digest?: string): Record<string, string> {
  const target = plannedTarget(to);
  const pins = services.map((service) => requirePin(files, service));
  const edits = planPinEdits(
    files,
    pins.map((pin) => ({ pin, tag: movedTag(pin.tag, target), ...(digest === undefined ? {} : { digest }) })),
  );
  const all = [...files.composeFiles, ...files.envFiles, ...(files.linkedFiles ?? [])];
  return Object.fromEntries(
    [...new Set(edits.map(({ file }) => file))].map((path) => [
      path.replace('/srv/svc/', ''),
      applyTextEdits(
        all.find((file) => file.path === path)?.text ?? '',
        edits.filter(({ file }) => file === path),
      ),
    ]),
  );
}

const image = (text: string) => `services:\n  app:\n    image: ${text}\n`;
const both = (app: string, worker: string) => `${image(app)}  worker:\n    image: ${worker}\n`;

type Texts = Record<string, string>;
const env = (text: string): Texts => ({ '.env': text });
/** A compose file, and an optional env file. */
const file = (text: string, beside?: string): Texts => ({
  'compose.yaml': text,
  ...(beside === undefined ? {} : env(beside)),
});
/** A compose file with this image of app, and an optional env file. */
const one = (text: string, beside?: string): Texts => file(image(text), beside);
/** A compose file with these images of app and worker, and an optional env file. */
const two = (app: string, worker: string, beside?: string): Texts => file(both(app, worker), beside);
const rejection = (code: string, message: unknown) => expect.objectContaining({ code, message });

describe('a pin', () => {
  it.each<[string, Texts, description: string, referenceText?: string]>([
    ['literal', one('svc:v1.4.2'), 'image of app in compose.yaml line 3'],
    ['variable', one('svc:${V}', 'A=1\nV=v1.4.2\n'), 'V in .env line 2'],
    ['default', one('svc:${V:-v1.4.2}'), 'the default of V in compose.yaml line 3'],
    [
      'absent',
      one('ghcr.io/acme/svc'),
      'image of app in compose.yaml line 3, which has no tag',
      'ghcr.io/acme/svc',
    ],
    [
      'variable',
      { 'compose.yaml': image('${I}'), 'prod.env': 'I=r:5000/svc:1.4.2' },
      'I in prod.env line 1',
      'r:5000/svc:1.4.2',
    ],
    ['literal', one('svc:1.4.2${X:--alpine}'), 'image of app in compose.yaml line 3', 'svc:1.4.2-alpine'],
    ['default', one('svc:${A:-${B:-v1.4.2}}'), 'the default of B in compose.yaml line 3'],
    ['variable', one('svc:${A:-$B}', 'B=v1.4.2'), 'B in .env line 1'],
    ['literal', file(`x: &i svc:v1.4.2\n${image('*i')}`), 'image of app in compose.yaml line 1'],
    [
      'literal',
      { 'a.yaml': image('svc:v1.0.0'), 'b.yaml': image('svc:v1.4.2') },
      'image of app in b.yaml line 3',
    ],
    [
      'literal',
      { 'a.yaml': image('svc:v1.4.2'), 'b.yaml': 'services: {app: {command: x}}' },
      'image of app in a.yaml line 3',
    ],
    [
      'literal',
      file('services:\n  app: {extends: base}\n  base: {image: svc:v1.4.2}'),
      'image of app in compose.yaml line 3',
    ],
    ['variable', { ...one('svc:$V'), 'a.env': 'V=v1.0.0', 'b.env': 'V=v1.4.2' }, 'V in b.env line 1'],
  ])('is found as %s in %j', (kind, texts, description, referenceText = 'svc:v1.4.2') => {
    expect(requirePin(project(texts), 'app')).toMatchObject({
      location: { kind, description },
      referenceText,
    });
  });

  it('is found in an included file unless the main file sets the image, as compose 5.2 and later merge them', () => {
    const files = project(
      {
        'compose.yaml':
          'include: [web.yaml]\nservices: {app: {labels: {a: b}}, worker: {image: "svc:v1.4.0"}}',
        'web.yaml': 'services: {app: {image: svc:v1.4.2}, worker: {image: svc:v1.4.2}}',
      },
      ['web.yaml'],
    );
    expect(requirePin(files, 'app')).toMatchObject({ location: { file: '/srv/svc/web.yaml' } });
    expect(requirePin(files, 'worker')).toMatchObject({ location: { file: '/srv/svc/compose.yaml' } });
  });

  it.each<[string, string, string]>([
    ['that is extended', '{extends: base, labels: {a: b}}', 'v1.4.1'],
    ['that is there', '{image: "svc:v1.4.0"}', 'v1.4.0'],
  ])(
    'of the first included file is overridden only by an image in the main file: an image %s',
    (_, app, expected) => {
      const files = project(
        {
          'compose.yaml': `include: [a.yaml, b.yaml]\nservices: {app: ${app}, base: {image: "svc:v1.4.3"}}`,
          'a.yaml': 'services: {app: {image: "svc:v1.4.1"}}',
          'b.yaml': 'services: {app: {image: "svc:v1.4.2"}}',
        },
        ['a.yaml', 'b.yaml'],
      );
      expect(requirePin(files, 'app').referenceText).toBe(`svc:${expected}`);
    },
  );

  it('is found through extends and include if the files are available', () => {
    const files = project(
      {
        'compose.yaml': 'include: [sub/web.yaml]',
        'sub/web.yaml': 'services: {app: {extends: {file: base.yaml, service: b}}}',
        'sub/base.yaml': 'services: {b: {image: svc:v1.4.2}}',
      },
      ['web.yaml', 'base.yaml'],
    );
    expect(requirePin(files, 'app')).toMatchObject({
      referenceText: 'svc:v1.4.2',
      location: { file: '/srv/svc/sub/base.yaml', description: 'image of app in sub/base.yaml line 1' },
    });
    expect(() => requirePin(files, 'web')).toThrow(
      expect.objectContaining({
        advice: 'The files define these services: app. Use --service to select the services to update.',
      }),
    );
    expect(move(files, 'v1.5.0')).toEqual({ 'sub/base.yaml': 'services: {b: {image: svc:v1.5.0}}' });
  });

  it.each<[string, Texts, string, string]>([
    [
      'a digest alone',
      one(`svc@${digests.old}`),
      'pin-digest',
      'image of app in compose.yaml line 3 has a digest but no tag, so its release is unknown',
    ],
    [
      'a build',
      file('services: {app: {build: .}}'),
      'built-from-source',
      'app is built from source in compose.yaml and has no image',
    ],
    [
      'a version and a variant, each in a variable',
      one('svc:${V:-1.4.2}${X}', 'X=-alpine'),
      'pin-unsupported',
      'image of app in compose.yaml line 3 combines V and X into one tag, 1.4.2-alpine',
    ],
    [
      'an unset variable',
      one('svc:$V'),
      'compose-invalid',
      'image of app in compose.yaml line 3 resolves to "svc:", which is not an image reference; V is not set',
    ],
    [
      'a line feed behind the tag',
      one('|\n      svc:v1.4.2\n\n'),
      'compose-invalid',
      'image of app in compose.yaml line 4 resolves to "svc:v1.4.2⏎", which is not an image reference',
    ],
    [
      'extends from afar',
      file('services:\n  app:\n    extends: {file: base.yaml, service: b}'),
      'compose-invalid',
      'compose.yaml line 3: extends /srv/svc/base.yaml does not exist',
    ],
    [
      'no such service',
      file('services: {web: {image: a}, db: {image: b}}'),
      'no-app',
      'there is no service app in compose.yaml',
    ],
  ])('is rejected: %s', (_, texts, code, message) => {
    expect(() => requirePin(project(texts), 'app')).toThrow(rejection(code, message));
  });
});

describe('the update of a pin', () => {
  it.each<[string, Texts, string, Texts]>([
    ['literal', one('svc:v1.4.2 # v1.4.2'), 'v1.5.0', one('svc:v1.5.0 # v1.4.2')],
    ['behind a word, in a variable', one('svc:pg-v${V}', 'V=1.4.2'), 'v1.5.0', env('V=1.5.0')],
    ['to canary', one('svc:1.4.2-alpine'), 'canary', one('svc:canary')],
    ['a variable', one('svc:${V}', 'V="v1.4.2" # V=v1.4.2\n'), 'v1.5.0', env('V="v1.5.0" # V=v1.4.2\n')],
    ['the last of duplicates', one('svc:$V', 'V=v1.4.2\nV=v1.4.2'), 'v1.5.0', env('V=v1.4.2\nV=v1.5.0')],
    ['v before a variable', one('svc:v$V', 'V=1.4.2'), 'v1.5.0', env('V=1.5.0')],
    ['a variant behind a variable', one('svc:${V}-alpine', 'V=1.4.2'), 'v1.5.0', env('V=1.5.0')],
    ['a variant in a variable', one('svc:1.4.2${X}', 'X=-alpine'), 'v1.5.0', one('svc:1.5.0${X}')],
    [
      'a whole reference with a variable in it',
      one('${I}', 'V=v1.4.2\nI=svc:$V'),
      'v1.5.0',
      env('V=v1.5.0\nI=svc:$V'),
    ],
    ['a default that is canary', one('svc:${V:-canary}', 'A=1'), 'v1.5.0', env('A=1\nV=v1.5.0\n')],
    [
      'a default that is a whole reference with canary',
      one('${I:-r.io/svc:canary}', 'A=1'),
      'v1.5.0',
      env('A=1\nI=r.io/svc:v1.5.0\n'),
    ],
    ['a floating default in an env file', one('svc:$V', 'V=${C:-canary}'), 'v1.5.0', env('V=${C:-v1.5.0}')],
    ['no tag to canary', one('r:5000/svc # c'), 'canary', one('r:5000/svc:canary # c')],
    ['no tag in a variable to canary', one('$I', 'I=svc # c'), 'canary', env('I=svc:canary # c')],
    ['another tag', one('svc:main'), 'v1.5.0', {}],
  ])('changes only the planned text: %s', (_, texts, to, after) => {
    expect(move(project(texts), to)).toEqual(after);
  });

  it.each<[string, text: string]>([
    [
      'a service extended by a variable name',
      'services: {app: {extends: {service: "${S:-b}"}}, b: {image: svc:v1.4.2}}',
    ],
    ['aliases as keys', 'x: &i image\ny: &a app\nservices:\n  *a : {*i : svc:v1.4.2}'],
    [
      'carriage returns as line ends, and other breaks within a text',
      'services:\r  app: # b\r    image: svc:v1.4.2\r    command: "x\u2028y\u0085z"\r\n',
    ],
    [
      'CRLF, a byte order mark, no final newline',
      `\ufeff${image('svc:v1.4.2')}#\tend`.replaceAll('\n', '\r\n'),
    ],
    ['JSON', '{"services": {"app": {"image": "svc:v1.4.2"}}}'],
  ])('changes only the tag in a file with %s', (_, text) => {
    expect(move(project(file(text)), 'v1.5.0')).toEqual(file(text.replace('v1.4.2', 'v1.5.0')));
  });

  it.each<[string, Texts, Texts]>([
    ['in two places', two('svc:v1.4.2', 'svc-worker:1.4.2'), two('svc:v1.5.0', 'svc-worker:1.5.0')],
    ['in one variable, with and without v', two('svc:$V', 'svc-worker:v${V}', 'V=1.4.2'), env('V=1.5.0')],
    ['in one anchor', two('&i svc:v1.4.2', '*i'), two('&i svc:v1.5.0', '*i')],
    [
      'in two defaults of a variable',
      two('a:${V:-v1.4.2}', 'b:${V:-v1.4.2}'),
      two('a:${V:-v1.5.0}', 'b:${V:-v1.5.0}'),
    ],
    [
      'in floating defaults of two variables',
      two('a:${V:-canary}', 'b:${W:-canary}', 'A=1'),
      env('A=1\nV=v1.5.0\nW=v1.5.0\n'),
    ],
  ])('changes the tags of app and worker %s', (_, texts, after) => {
    expect(move(project(texts), 'v1.5.0', ['app', 'worker'])).toEqual(after);
  });

  it.each<[string, Texts, Texts]>([
    ['beside the tag', one(`svc:v1.4.2@${digests.old}`), one(`svc:v1.5.0@${digests.new}`)],
    ['in a variable', one('svc:v1.4.2@$D', `D=${digests.old}`), one('svc:v1.5.0@$D', `D=${digests.new}`)],
  ])('replaces a digest %s', (_, texts, after) => {
    expect(move(project(texts), 'v1.5.0', ['app'], digests.new)).toEqual(after);
  });

  it('requires the new digest if the pin has a digest', () => {
    const files = project(one(`svc:v1.4.2@${digests.old}`));
    expect(() => move(files, 'v1.5.0')).toThrow(
      expect.objectContaining({ code: 'pin-digest', advice: expect.stringContaining('--digest') }),
    );
    expect(move(files, 'v1.5.0', ['app'], digests.new)).not.toEqual({});
  });

  it.each<[string, Texts, string, RegExp]>([
    [
      'written text that does not fit',
      one('svc:v$V', 'V=1.4.2'),
      'canary',
      /\(V in \.env line 1\) combines literal text and variables that cannot be changed to canary/,
    ],
    [
      'a version of two variables, through a third',
      one('svc:$V', 'A=1\nB=4.2\nV=v${A}.${B}'),
      'v1.5.0',
      /combines A and V and B into one tag, v1\.4\.2/,
    ],
    [
      'one variable, two meanings',
      two('a:$V', 'b:${V}-alpine', 'V=v1.4.2'),
      'canary',
      /the version of worker \(V in \.env line 1\) combines literal text and variables that cannot be changed to canary/,
    ],
    [
      'a variable that also names the image',
      one('svc-$V:$V', 'V=1.4.2'),
      'v1.5.0',
      /app would run svc-1\.5\.0:1\.5\.0 instead of svc-1\.4\.2:1\.5\.0/,
    ],
    [
      'a variable from elsewhere',
      one('svc:$H'),
      'v1.5.0',
      /contains escapes or comes from outside the files/,
    ],
  ])('rejects %s', (_, texts, to, message) => {
    const files = { ...project(texts), given: { H: 'v1.4.2' } };
    const services = texts['compose.yaml']?.includes('worker:') ? ['app', 'worker'] : ['app'];
    expect(() => move(files, to, services)).toThrow(
      rejection('pin-unsupported', expect.stringMatching(message)),
    );
  });

  it('rejects different new texts of two services at the same position', () => {
    const files = project(two('a:$V', 'b:$V', 'V=v1.4.2'));
    const moves = [
      { pin: requirePin(files, 'app'), tag: 'v1.5.0' },
      { pin: requirePin(files, 'worker'), tag: 'v1.6.0' },
    ];
    expect(() => planPinEdits(files, moves)).toThrow(
      rejection('pin-unsupported', expect.stringMatching(/app and worker share V in \.env line 1/)),
    );
  });
});
