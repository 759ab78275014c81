import { describe, expect, it } from 'vitest';
import { parseComposeFile } from '../../../src/core/compose/compose-file.ts';

const parse = (text: string) => parseComposeFile({ path: '/srv/svc/compose.yaml', text });
/** The image of a service, its line, and the text of the file at its position. */
const imageOf = (text: string, service = 'app') => {
  const image = parse(text).getService(service)?.image;
  if (!image) return null;
  return [
    image.text,
    image.line,
    image.start < 0 ? 'no place' : text.slice(image.start, image.start + image.text.length),
  ];
};

describe('the image of a service', () => {
  it.each<[string, string, string, number]>([
    ['plain', 'services:\n  app:\n    image: svc:v1 # c\n', 'svc:v1', 3],
    ['double quotes', 'services:\n  app:\n    image: "svc:v1"\n', 'svc:v1', 3],
    ['a flow mapping', 'services: {app: {image: svc:v1, x: y}}', 'svc:v1', 1],
    ['JSON', '{\n\t"services": {\n\t\t"app": {"image": "svc:v1"}\n\t}\n}', 'svc:v1', 3],
    ['CRLF and a byte order mark', '\ufeffservices:\r\n  app:\r\n    image: svc:v1\r\n', 'svc:v1', 3],
    ['the next line', 'services:\n  app:\n    image:\n      svc:v1\n', 'svc:v1', 4],
    ['a folded block', 'services:\n  app:\n    image: >- # svc:v1\n      svc:v1\n', 'svc:v1', 4],
    ['an alias', 'x-image: &image svc:v1\nservices:\n  app:\n    image: *image\n', 'svc:v1', 1],
    [
      'the last of two anchors',
      'x-a: &i svc:v0\nx-b: &i svc:v1\nservices:\n  app: {image: *i}\nx-c: &i svc:v2\n',
      'svc:v1',
      2,
    ],
    ['an alias for the service', 'x-app: &app\n  image: svc:v1\nservices:\n  app: *app\n', 'svc:v1', 2],
    [
      'a merge key',
      'x-base: &base\n  image: svc:v1\nservices:\n  app:\n    <<: *base\n    command: x\n',
      'svc:v1',
      2,
    ],
    [
      'its own before a merged one',
      'x: &x {image: svc:v0}\nservices:\n  app:\n    image: svc:v1\n    <<: *x\n',
      'svc:v1',
      4,
    ],
    [
      'the first of merged ones',
      'x: &x {image: svc:v1}\ny: &y {image: svc:v0}\nservices: {app: {<<: [*x, *y]}}',
      'svc:v1',
      1,
    ],
    [
      'the last document',
      'services: {app: {image: svc:v0}}\n---\nservices: {app: {image: svc:v1}}',
      'svc:v1',
      3,
    ],
    [
      'an earlier document',
      'services: {app: {image: svc:v1}}\n---\nservices: {app: {command: x}}',
      'svc:v1',
      1,
    ],
    ['text beyond ASCII', '# ünïcödé 😀\nservices:\n  app:\n    image: svc:v1 # 😀\n', 'svc:v1', 4],
  ])('is found with its position: %s', (_, text, value, line) => {
    expect(imageOf(text)).toEqual([value, line, value]);
  });

  it.each([
    ['escapes', 'services: {app: {image: "svc:\\x761"}}', 'svc:v1'],
    ['doubled quotes', "services: {app: {image: 'a''b'}}", "a'b"],
    ['folded lines', 'services:\n  app:\n    image: >-\n      svc\n      v1\n', 'svc v1'],
  ])('has no position in the file with %s', (_, text, value) => {
    expect(imageOf(text)).toEqual([value, expect.any(Number), 'no place']);
  });

  it.each([
    ['no services', 'volumes: {}'],
    ['another service', 'services: {web: {image: svc:v1}}'],
    ['none', 'services: {app: {build: .}}'],
    ['a list for services', 'services: [app]'],
  ])('is null if the file has %s', (_, text) => {
    expect(imageOf(text)).toBeNull();
  });
});

describe('a compose file', () => {
  it('lists services, includes and extended files', () => {
    const file = parse(
      [
        'include:',
        '  - common.yaml',
        '  - path: ["a.yaml", b.yaml]',
        '  - path: c.yaml',
        'x-merged: &merged {db: {image: db}}',
        'services:',
        '  <<: *merged',
        '  app: {extends: {file: base.yaml, service: web}}',
        '  worker: {extends: app}',
        '  tool: {build: .}',
      ].join('\n'),
    );
    expect(file.serviceNames).toEqual(['app', 'worker', 'tool', 'db']);
    expect(file.includes.map(({ paths }) => paths)).toEqual([
      [{ path: 'common.yaml', line: 2 }],
      [
        { path: 'a.yaml', line: 3 },
        { path: 'b.yaml', line: 3 },
      ],
      [{ path: 'c.yaml', line: 4 }],
    ]);
    expect(file.extendedFiles).toEqual([{ path: 'base.yaml', line: 8 }]);
    expect(file.getService('app')?.extends).toEqual({ service: 'web', file: 'base.yaml', line: 8 });
    expect(file.getService('worker')?.extends).toEqual({ service: 'app', file: null, line: 9 });
    expect(file.getService('tool')?.hasBuild).toBe(true);
    expect(file.getService('db')?.hasBuild).toBe(false);
    expect(file.getService('constructor')).toBeNull();
  });

  it.each([
    [
      'an open list',
      'services:\n  app: [1\n',
      'compose.yaml line 3: Flow sequence in block collection must be sufficiently indented and end with a ]',
    ],
    ['a key twice', 'services:\n  app: {}\n  app: {}\n', 'compose.yaml line 3: Map keys must be unique'],
    ['a missing anchor', 'services:\n  app: *base\n', 'compose.yaml line 2: the alias *base has no anchor'],
    ['deep nesting', '['.repeat(50_000), 'compose.yaml line 1: nested too deeply'],
    [
      '6 MiB',
      `# ${'x'.repeat(5.5 * 1024 * 1024)}`,
      'compose.yaml is 6 MiB, but a compose file may have at most 5 MiB',
    ],
  ])('is rejected because of %s', (_, text, message) => {
    expect(() => parse(text)).toThrow(expect.objectContaining({ code: 'compose-invalid', message }));
  });

  it('rejects an alias that contains itself when its service is requested', () => {
    const text = 'services:\n  app: &app\n    <<: *app\n';
    expect(() => parse(text).getService('app')).toThrow(/compose\.yaml line 3: an alias contains itself/);
  });

  it('resolves exponentially nested aliases quickly', () => {
    const levels = Array.from({ length: 60 }, (_, i) => `a${i + 1}: &a${i + 1} {<<: [*a${i}, *a${i}]}`);
    const text = `a0: &a0 {image: svc:v1}\n${levels.join('\n')}\nservices: {app: {<<: *a60}, none: {<<: {}}}`;
    expect(imageOf(text)).toEqual(['svc:v1', 1, 'svc:v1']);
  });
});
