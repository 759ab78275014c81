// biome-ignore-all lint/suspicious/noTemplateCurlyInString: compose's own variables
import { describe, expect, it } from 'vitest';
import { listDriftChanges } from '../../../../src/updater/compose/drift/changes.ts';
import {
  evaluateDriftChanges,
  evaluateImageMismatch,
} from '../../../../src/updater/compose/drift/evaluate-changes.ts';
import {
  envFilePathsOf,
  findServiceSettingTexts,
  isInEnvironment,
  listUnsetVariables,
} from '../../../../src/updater/compose/drift/setting-texts.ts';

const files: Record<string, string> = { SET: 'x', EMPTY: '' };
const setTo = (name: string) => files[name] ?? null;

describe('unsetVariablesIn', () => {
  it.each<[string, string[]]>([
    [`$$A and $\${B}`, []],
    ['$$$A', ['A']],
    [`\${A:-default}`, ['A']],
    [`\${SET:-\${A}}`, []],
    [`\${EMPTY-\${A}}`, []],
    [`\${SET:+\${A}}`, ['A']],
    [`\${A:?is needed}`, ['A']],
    [`\${A:?is needed}$B`, ['A', 'B']],
    [`no name: $1 \${1} $ {A}`, []],
  ])('finds in %s the variables that no file sets: %j', (text, expected) => {
    expect(listUnsetVariables([text], setTo)).toEqual(expected);
  });
});

describe('findWrittenTexts', () => {
  const written = {
    services: {
      app: {
        environment: [`A=\${A:-1}`, `B=\${B}`, 'PASSED'],
        labels: { one: `\${ONE}`, two: '2', bare: null },
        annotations: ['bare'],
        extra_hosts: [`h:\${IP}`, `i=\${IP6}`],
        command: ['run', `\${X}`],
        deploy: { resources: { limits: { memory: `\${MEM}` } } },
        volumes: [
          { source: `\${DATA:-./data}`, target: '/data' },
          { source: 'w', target: '/w/' },
          { source: './x', target: '/x' },
          `\${ODD}`,
        ],
        secrets: [{ source: 'key' }, { source: 'pem', target: '/etc/site.pem' }],
        configs: ['conf'],
        networks: { internal: { ipv4_address: `\${IP4}` } },
        env_file: ['/opt/svc/a.env', { path: '/opt/svc/b.env', required: false }],
      },
      map: { environment: { A: `\${A}`, PASSED: null } },
    },
    networks: { internal: { name: `\${NET}` } },
    volumes: { v: { name: `\${VOL}` }, w: { name: `\${OTHER}` } },
    secrets: { key: { file: `\${KEY}` }, pem: { file: `/opt/\${PEM}` } },
    configs: { conf: { file: `\${CONF:-./conf}` } },
  };

  it.each<[string, string, string, string[]]>([
    ['app', 'environment', 'A', [`A=\${A:-1}`]],
    ['app', 'environment', 'PASSED', [`\${PASSED}`]],
    ['app', 'labels', 'one', [`\${ONE}`]],
    ['app', 'labels', 'bare', ['']],
    ['app', 'annotations', 'bare', ['']],
    ['app', 'extra_hosts', 'h', [`h:\${IP}`]],
    ['app', 'command', '', ['run', `\${X}`]],
    ['app', 'volumes', '/data', [`\${DATA:-./data}`, '/data', `\${VOL}`, `\${OTHER}`]],
    ['app', 'volumes', '/w', ['w', '/w/', `\${OTHER}`]],
    ['app', 'volumes', '/run/secrets/key', [`\${KEY}`]],
    ['app', 'volumes', '/etc/site.pem', [`/opt/\${PEM}`]],
    ['app', 'volumes', '/conf', [`\${CONF:-./conf}`]],
    ['app', 'network address', 'svc_internal', [`\${IP4}`]],
    ['app', 'networks', 'svc_internal', [`\${IP4}`, `\${NET}`]],
    ['app', 'user', '', []],
  ])('finds for service %s, key %s %s the texts %j', (service, section, item, expected) => {
    expect(findServiceSettingTexts(written, service, { section, item })).toEqual(expected);
  });

  it('has helpers that read the environment and the env files of a service', () => {
    expect(['A', 'PASSED', 'C'].map((key) => isInEnvironment(written, 'app', key))).toEqual([
      true,
      true,
      false,
    ]);
    expect(isInEnvironment(written, 'map', 'PASSED')).toBe(true);
    expect(envFilePathsOf(written, 'app')).toEqual(['/opt/svc/a.env', '/opt/svc/b.env']);
    expect(envFilePathsOf(written, 'map')).toEqual([]);
  });
});

describe('secrets and images that depend on shell variables', () => {
  const service = { secrets: [{ source: 'key' }], configs: [{ source: 'set' }, { source: 'file' }] };
  const model = {
    name: 'svc',
    services: { app: service },
    secrets: { key: { environment: 'SIGNING_KEY' } },
    configs: { set: { environment: 'SET' }, file: { file: '/opt/svc/x' } },
  };

  it('are reported with the line to add', () => {
    const surroundings = { isOwn: () => false, volumeOptions: () => ({}) };
    const nothing = { replaced: [], surroundings, otherImages: [], copies: [] };
    const changes = listDriftChanges(
      model,
      { service: { name: 'app', containers: [], running: 0, stopped: [] }, ...nothing },
      setTo,
    );
    const found = evaluateDriftChanges(
      changes.map((change) => [change, []]),
      { setTo, home: '/root' },
    );
    expect(found).toEqual([
      {
        service: 'app',
        sentence: 'app: secret key would be lost (SIGNING_KEY is not set in any file)',
        isLoss: true,
        remedy: { kind: 'set', variables: ['SIGNING_KEY'], hasDefault: false },
      },
    ]);
    const image = { running: 'svc:v1', inFiles: 'svc:latest', texts: [`svc:\${TAG:-latest}`] };
    expect(evaluateImageMismatch('app', image, setTo)?.remedy).toEqual({
      kind: 'set',
      variables: ['TAG'],
      hasDefault: false,
      line: 'TAG=v1',
    });
    expect(evaluateImageMismatch('app', image, setTo)?.sentence).toBe(
      'app: the files specify svc:latest, not svc:v1 (TAG is not set in any file)',
    );
    expect(evaluateImageMismatch('app', { ...image, texts: [`svc:\${SET:-latest}`] }, setTo)).toBeNull();
    const inAnotherFile = { ...image, texts: [`svc:\${SET:-latest}`], byDefault: 'SET' };
    expect(evaluateImageMismatch('app', inAnotherFile, setTo)?.remedy).toMatchObject({ line: 'SET=v1' });
    const byId = { ...image, running: `sha256:${'a'.repeat(64)}` };
    expect(evaluateImageMismatch('app', byId, setTo)?.remedy).toEqual({
      kind: 'set',
      variables: ['TAG'],
      hasDefault: false,
    });
  });

  it.each([
    ['a default', 'svc:${TAG:-latest}', 'svc:v1.0.0', 'TAG=v1.0.0'],
    ['nested, the inner one is shorter', '${IMAGE:-svc:${TAG:-latest}}', 'svc:v1.0.0', 'TAG=v1.0.0'],
    ['another image', 'svc:${TAG:-latest}', 'other:v1', undefined],
    ['two that only together make it', '${R:-a}/svc:${TAG:-latest}', 'b/svc:v1', undefined],
  ])(
    'are reported with a line that restores the running image, if there is such a line: %s',
    (_, text, running, line) => {
      const finding = evaluateImageMismatch('app', { running, inFiles: 'svc:latest', texts: [text] }, setTo);
      const remedy = finding?.remedy;
      expect(remedy?.kind === 'set' ? remedy.line : 'of another kind').toBe(line);
    },
  );

  it.each([
    ['svc:latest', 'svc:v1.0.0', false],
    ['svc:v1.1.0', 'svc:v1.0.0', true],
  ])(
    'are reported with the advice to run up only if the files have a newer release: %s for %s, %s',
    (inFiles, running, hasDefault) => {
      const finding = evaluateImageMismatch('app', { running, inFiles, texts: ['svc:${TAG:-x}'] }, setTo);
      expect(finding?.remedy).toMatchObject({ hasDefault });
    },
  );
});
