// biome-ignore-all lint/suspicious/noTemplateCurlyInString: compose's own variables
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { ProjectDraft } from '../../../../src/core/compose/draft.ts';
import { UpdateError } from '../../../../src/core/errors/update-error.ts';
import { createProduct } from '../../../../src/core/names/product.ts';
import {
  type EnableRequest,
  planDisable,
  planEnable,
} from '../../../../src/updater/compose/enable/plan-enable.ts';

const secret = 'a'.repeat(64);
const updatesImage = 'ghcr.io/acme/larder-updates';
const product = createProduct({ name: 'larder', services: ['app', 'updates'], updatesImage });
const request: EnableRequest = {
  product,
  app: 'app',
  workers: [],
  tag: 'v1.4.2',
  socket: '/run/user/1000/$docker.sock',
  secret,
};

const filesOf = (text: string, env: string | null = null) => ({
  composeFiles: [{ path: '/opt/larder/compose.yaml', text }],
  envFiles: env === null ? [] : [{ path: '/opt/larder/.env', text: env }],
  newEnvFile: '/opt/larder/.env',
});
/** The part of compose's model that the plan reads. */
const modelOf = (text: string) => ({ name: 'larder', services: {}, ...parse(text, { merge: true }) });
const enable = (text: string, env: string | null = null, changes: Partial<EnableRequest> = {}) =>
  planEnable(filesOf(text, env), modelOf(text), { ...request, ...changes }).draft;
const textOf = ({ files }: ProjectDraft) => files.composeFiles[0]?.text ?? '';
const envOf = ({ files }: ProjectDraft) => files.envFiles[0]?.text ?? null;

function refusal(text: string, changes: Partial<EnableRequest> = {}): UpdateError {
  try {
    enable(text, null, changes);
  } catch (error) {
    if (error instanceof UpdateError) return error;
    throw error;
  }
  throw new Error('not refused');
}

const service = `  updates:
    image: ghcr.io/acme/larder-updates:v1.4.2
    restart: unless-stopped
    labels:
      larder.role: worker
      larder.data: none
    environment:
      SVC_SERVE_SECRET: \${UPDATES_SECRET:?}
    volumes:
      - /run/user/1000/$$docker.sock:/var/run/docker.sock
      - updates:/store
    read_only: true
    cap_drop:
      - ALL
    security_opt:
      - no-new-privileges:true
    healthcheck:
      test:
        - CMD
        - wget
        - -qO-
        - http://127.0.0.1:8080/healthz
      interval: 2s
`;

describe('planEnable', () => {
  it('adds the service, its volume and the secret, and pins the version', () => {
    const draft = enable(`# mine
services:
  app:
    image: ghcr.io/acme/larder:latest # the app
    ports: ['80:8080']
    # no more

# the end
`);
    expect(textOf(draft)).toBe(`# mine
services:
  app:
    image: ghcr.io/acme/larder:v1.4.2 # the app
    ports: ['80:8080']
    environment:
      UPDATES_SECRET: \${UPDATES_SECRET:?}
${service}    # no more

# the end
volumes:
  updates:
`);
    expect(envOf(draft)).toBe(`UPDATES_SECRET=${secret}\n`);
  });

  it('keeps a version, and uses its variable for the new service', () => {
    const text = `services:
    app:
        image: ghcr.io/acme/larder:\${TAG:-1.4.2}
        environment:
            - A=b
        networks: [inside, web]
    db: {image: postgres:16}
networks: {inside: {internal: true}, web: {}}
volumes:
    data:
`;
    const model = modelOf(text);
    model.services.app.networks = { inside: null, web: null };
    const { draft } = planEnable(filesOf(text, 'A=1'), model, request);
    const after = parse(textOf(draft));
    expect(after.services.app).toEqual({
      image: 'ghcr.io/acme/larder:${TAG:-1.4.2}',
      environment: ['A=b', 'UPDATES_SECRET=${UPDATES_SECRET:?}'],
      networks: ['inside', 'web'],
    });
    expect(after.services.updates).toMatchObject({
      image: `${updatesImage}:\${TAG:-1.4.2}`,
      networks: ['web'],
    });
    expect(after.volumes).toEqual({ data: null, updates: null });
    expect(envOf(draft)).toBe(`A=1\nUPDATES_SECRET=${secret}\n`);
  });

  it('sets the version in the env file if a variable has a floating default', () => {
    const draft = enable(
      'services:\n  app:\n    image: ghcr.io/acme/larder:${TAG:-latest}\n',
      `UPDATES_SECRET=${secret}\n`,
    );
    expect(parse(textOf(draft)).services.updates.image).toBe(`${updatesImage}:\${TAG:-latest}`);
    expect(envOf(draft)).toBe(`UPDATES_SECRET=${secret}\nTAG=v1.4.2\n`);
  });

  it('names the services of the instance if they are not those of the product', () => {
    const text =
      'services:\n  web:\n    image: ghcr.io/acme/larder:1\n  jobs:\n    image: ghcr.io/acme/larder:1\n';
    const { services } = parse(textOf(enable(text, null, { app: 'web', workers: ['jobs'] })));
    expect(services.updates.environment).toEqual({
      SVC_SERVE_SECRET: '${UPDATES_SECRET:?}',
      SVC_SERVE_APP: 'web',
      SVC_SERVE_WORKERS: '["jobs","updates"]',
    });
  });

  it('keeps a floating tag if the registry does not confirm the version', () => {
    const draft = enable('services:\n  app:\n    image: ghcr.io/acme/larder\n', null, { tag: null });
    const { app, updates } = parse(textOf(draft)).services;
    expect([app.image, updates.image]).toEqual(['ghcr.io/acme/larder', `${updatesImage}:latest`]);
  });

  const app = 'image: ghcr.io/acme/larder:v1.4.2';
  it.each([
    [
      'another network',
      `services:\n  app:\n    ${app}\n    network_mode: host\n`,
      'app has no network that only this project uses',
    ],
    [
      'a service of that name',
      `services:\n  app:\n    ${app}\n  updates:\n    image: x\n`,
      'already has a service updates',
    ],
    [
      'a volume of that name',
      `services:\n  app:\n    ${app}\nvolumes: {updates: {}}\n`,
      'already has a volume updates',
    ],
    [
      'only networks that other projects use',
      `services:\n  app:\n    ${app}\n    networks: {proxy: {}}\nnetworks: {proxy: {external: true}}\n`,
      'app has no network that only this project uses',
    ],
    [
      'a variable of that name',
      `services:\n  app:\n    ${app}\n    environment: {UPDATES_SECRET: x}\n`,
      'app already has the variable UPDATES_SECRET',
    ],
    [
      'another publisher behind a variable',
      'services:\n  app:\n    image: evil/larder:${TAG:-v1.4.2}\n',
      'same publisher',
    ],
    ['another publisher', 'services:\n  app:\n    image: linkding:1.0.0\n', 'do not have the same publisher'],
    ['a definition in braces', `services:\n  app: {${app}}\n`, 'cannot be extended automatically'],
    ['services in braces', `services: {app: {${app}}}\n`, 'cannot be extended automatically'],
    [
      'an alias',
      `x-env: &env {A: b}\nservices:\n  app:\n    ${app}\n    environment: *env\n`,
      'cannot be extended',
    ],
    [
      'a merged environment',
      `x-app: &app\n  environment: {A: b}\nservices:\n  app:\n    <<: *app\n    ${app}\n`,
      'cannot be extended',
    ],
    [
      'volumes in braces',
      `services:\n  app:\n    ${app}\nvolumes: {data: {}}\n`,
      'cannot be extended automatically',
    ],
  ])('refuses %s, with the lines to paste', (_, text, why) => {
    const { code, message, detail } = refusal(text);
    expect([code, message]).toEqual(['enable-refused', expect.stringContaining(why)]);
    const pasted = parse(detail.slice(1).join('\n'));
    expect(Object.keys(pasted.services)).toEqual(['app', 'updates']);
    expect(pasted.services.app).toEqual({ environment: { UPDATES_SECRET: '${UPDATES_SECRET:?}' } });
    expect(pasted.volumes).toEqual({ updates: null });
  });

  it('refuses a secret that is too short', () => {
    const files = filesOf(`services:\n  app:\n    ${app}\n`, 'UPDATES_SECRET=short');
    expect(() => planEnable(files, modelOf(files.composeFiles[0]?.text ?? ''), request)).toThrow(
      'at least 32',
    );
  });

  it('adds only the secret if the service is there without it', () => {
    const { draft } = planEnable(
      filesOf(textOf(enable(`services:\n  app:\n    ${app}\n`))),
      modelOf(`services:\n  updates:\n    image: ${updatesImage}:v1.4.2\n`),
      request,
    );
    expect(draft.changes.map(({ path }) => path)).toEqual(['/opt/larder/.env']);
  });

  it('shows the tags and the services to paste', () => {
    const latest = 'image: ghcr.io/acme/larder:latest';
    const text = `services:\n  web: {${latest}}\n  jobs:\n    ${latest}\n  db:\n    image: postgres:latest\n`;
    const { detail } = refusal(text, { app: 'web', workers: ['jobs', 'db'] });
    expect(detail).toContain('services: [web, jobs, db, updates]');
    const pasted = parse(detail.slice(1, -2).join('\n'));
    expect(pasted.services).toMatchObject({
      web: { image: 'ghcr.io/acme/larder:v1.4.2' },
      jobs: { image: 'ghcr.io/acme/larder:v1.4.2' },
    });
    expect(pasted.services.db).toBeUndefined();
  });

  it('refuses a product without an image for the service', () => {
    const { updatesImage: _, ...without } = product;
    expect(refusal(`services:\n  app:\n    ${app}\n`, { product: without }).message).toContain(
      'has no updatesImage',
    );
  });
});

describe('planDisable', () => {
  it.each([
    '    environment: {UPDATES_SECRET: "${UPDATES_SECRET:?}"}\n',
    '  worker:\n    image: a/b:1\n    environment: ["SECRET=${UPDATES_SECRET}"]\n',
  ])('refuses to remove a secret that the file still uses: %j', (rest) => {
    const files = filesOf(`services:\n  app:\n    image: a/b:1\n${rest}`, 'UPDATES_SECRET=x\n');
    expect(() => planDisable(files, 'app')).toThrow('compose.yaml still uses UPDATES_SECRET');
  });

  it('removes a secret that only a comment names', () => {
    const files = filesOf(
      'services:\n  app:\n    image: a/b:1\n    # UPDATES_SECRET: ${UPDATES_SECRET:?}\n',
      'A=b\nUPDATES_SECRET=x\n',
    );
    const [change] = planDisable(files, 'app').draft.changes;
    expect(change).toMatchObject({ path: '/opt/larder/.env', after: 'A=b\n' });
  });

  const option = <T>(...values: T[]) => fc.constantFrom(...values);
  const layouts = fc.record({
    step: option(1, 2, 4),
    lineEnd: option('\n', '\r\n'),
    last: option('', '\n', '\n# end\n', '\n\n'),
    environment: option('', 'map', 'list', 'flush list'),
    volumes: option('none', 'first', 'last', 'empty'),
    order: option('first', 'last'),
    comment: option('', '# note'),
    env: option(null, '', 'A=b', 'A=b\n', 'UPDATES_SECRETS=x\r\n'),
  });

  it('restores the bytes of every layout', () => {
    fc.assert(
      fc.property(layouts, ({ step, lineEnd, last, environment, volumes, order, comment, env }) => {
        const pad = (depth: number) => ' '.repeat(step * depth);
        const list = environment === 'flush list' ? 2 : 3;
        const app = [
          `${pad(1)}app: ${comment}`.trimEnd(),
          `${pad(2)}image: ghcr.io/acme/larder:v1.4.2 ${comment}`.trimEnd(),
          ...(environment === '' ? [] : [`${pad(2)}environment:`]),
          ...(environment === 'map' ? [`${pad(3)}A: b`] : []),
          ...(environment.endsWith('list') ? [`${pad(list)}- A=b ${comment}`.trimEnd()] : []),
        ];
        const db = [`${pad(1)}db:`, `${pad(2)}image: postgres:16`, `${pad(2)}command: |`, `${pad(3)}-c a=b`];
        const services = ['services:', ...(order === 'first' ? [...app, ...db] : [...db, ...app])];
        const section = ['volumes:', `${pad(1)}data:`];
        const lines = {
          none: services,
          first: [...section, ...services],
          last: [...services, ...section],
          empty: ['name: x', ...services],
        }[volumes];
        const text = (lines ?? []).join(lineEnd) + last.replaceAll('\n', lineEnd);
        const draft = enable(text, env);
        const after = modelOf(textOf(draft));
        expect(after.services.updates.image).toBe(`${updatesImage}:v1.4.2`);
        expect(JSON.stringify(after.services.app.environment)).toContain('UPDATES_SECRET');
        expect(Object.keys(after.volumes)).toContain('updates');
        expect(after.services.db).toEqual(modelOf(text).services.db);
        const { draft: undone } = planDisable(draft.files, 'app');
        expect(textOf(undone)).toBe(text);
      }),
      { numRuns: 500 },
    );
  });
});
