import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import type { ProjectFiles } from '../../../../../src/core/compose/project-files.ts';
import { createVariableLookup } from '../../../../../src/core/compose/variables.ts';
import { readTextFile } from '../../../../../src/core/files/text-file.ts';
import { addLinkedFiles } from '../../../../../src/updater/compose/inspect/project-files/add-linked-files.ts';
import { maskFileSecrets } from '../../../../../src/updater/compose/inspect/project-files/mask-file-secrets.ts';
import {
  createContainerMaskRules,
  createModelMaskRules,
} from '../../../../../src/updater/run/log/mask-rules.ts';
import { Log } from '../../../../../src/updater/run/log/run-log.ts';
import { container } from '../../../../build.ts';
import { temporaryDirectory } from '../../../../rig/temporary-directory.ts';

let directory: string;
beforeEach(async () => {
  directory = await temporaryDirectory();
});

const at = (path: string) => join(directory, path);

async function project(texts: Record<string, string>, envFiles = ['.env']): Promise<ProjectFiles> {
  for (const [path, text] of Object.entries(texts)) {
    await mkdir(dirname(at(path)), { recursive: true });
    await writeFile(at(path), text);
  }
  const files: ProjectFiles = {
    composeFiles: [await readTextFile(at('compose.yaml'))],
    envFiles: await Promise.all(envFiles.map((path) => readTextFile(at(path)))),
    newEnvFile: at('.env'),
    directory,
  };
  return addLinkedFiles(files, ({ path }) => readTextFile(path).catch(() => null)).catch(() => files);
}

/** The lines and fields that are logged after the secrets of the files were added to the mask rules. */
async function logged(files: ProjectFiles, texts: readonly string[], log = logOf()): Promise<string[]> {
  await maskFileSecrets(log.log, files);
  for (const text of texts) log.log.error(`it said: ${text}`, { deep: { list: [text] } });
  return log.lines;
}

function logOf(): { log: Log; lines: string[] } {
  const lines: string[] = [];
  return { log: new Log(({ message }, fields) => lines.push(message, JSON.stringify(fields))), lines };
}

const planted: Record<string, string> = {
  'a # inside a value': 'Xk9#mQ7w2',
  'a # at its beginning': '#hash-first',
  'a # in double quotes': 'dq #half hidden',
  'an escape in double quotes': 'line"break',
  'single quotes': "it's $not a variable",
  'four characters under a secret name': 'hunt',
  'an assignment that a later one hides': 'the-older-one',
  'a variable of a variable': 'outer-inner-value',
  'a value of the environment': 'literal-in-yaml',
  'a value in a list': 'listed=with=equals',
  'a default that counts': 'default-in-yaml',
  'a value behind a merge key': 'merged-in-yaml',
  'a folded value': 'first half second half',
  'an env_file': 'from-env-file',
  'an env_file without quotes': '"quoted # raw"',
  'an env_file of what is extended': 'from-extended',
  'an env file of what is included': 'from-included',
  'a broken env_file': 'from+broken/line',
  'commented out in a broken env_file': 'once-was-here',
  'a line of a file of a secret': 'MIIEvQIBADANBgkq',
  'behind the colon in a file of a secret': 'behind-a-colon',
  'a line of an inline config': 'listen = unix',
  'behind the = in an inline config': 'behind-an-equals',
  'an inline secret': 'inline-from-variable',
  'commented out beside the pin': 'old-password-2',
  'commented out in few characters': 'hun2',
  'commented out in an env file': 'old-password-3',
  'an env_file with a variable of the project': 'pre-abcx-post',
  'an env_file that knows no comments': 'half # of it',
  'the label of a container': 'stuck-on-a-label',
  'an argument of a build': 'baked-in-token',
  'an option of a command': 'told-as-an-option',
  'an option in a list': 'listed-as-an-option',
  'an extension': 'kept-in-an-extension',
  'a setting of a config': 'set-in-a-config',
  'a label in a file of labels': 'labelled-in-a-file',
  'the environment of a hook': 'handed-to-a-hook',
  'the environment of a hook, as a list': 'listed-for-a-hook',
};

const files = () =>
  project({
    '.env': [
      'SVC_VERSION=v1.4.2',
      'SVC_IMAGE=ghcr.io/acme/svc',
      'SMTP_PASSWORD=Xk9#mQ7w2',
      'HASHED=#hash-first',
      'QUOTED="dq #half hidden" # and a comment',
      String.raw`ESCAPED="line\"break"`,
      "SINGLE='it\\'s $not a variable'",
      'DB_PASS=hunt',
      'TWICE=the-older-one',
      'TWICE=x',
      'SHORT=abc',
      'INNER=inner-value',
      'OUTER=outer-$' + '{INNER}',
      'INLINE=user:inline-from-variable',
      '# SMTP_PASSWORD=old-password-3',
      '',
    ].join('\n'),
    'compose.yaml': `
include: [sub/compose.yaml]
x-env: &env { MERGED: merged-in-yaml }
x-settings: { apiToken: kept-in-an-extension }
services:
  app:
    image: \${SVC_IMAGE}:\${SVC_VERSION}
    # - DB_PASSWORD=old-password-2
    # DB_PASSWORD: hun2
    environment:
      <<: *env
      LITERAL: literal-in-yaml
      DEFAULTED: \${NOWHERE:-default-in-yaml}
      FOLDED: first half
        second half
    env_file: [app.env, {path: raw.env, format: raw, required: false}, broken.env, not-there.env]
  worker:
    extends: {file: base/base.yaml, service: base}
    label_file: [labels.txt]
    pre_start: [{command: migrate, environment: {MIGRATES: handed-to-a-hook}}]
    post_start: [{command: warm, environment: [WARMS=listed-for-a-hook]}]
  postgres:
    image: postgres
    build: { args: [NPM_TOKEN=baked-in-token] }
    labels: { svc.token: "stuck-on-a-label", svc.token-file: /run/secrets/token }
    command: run --password "told-as-an-option" --no-password --quiet
    entrypoint:
      - --admin-secret
      - listed-as-an-option
    environment:
      - LISTED=listed=with=equals
      - POSTGRES_DB=postgres
configs:
  ini: {file: ./svc.ini}
  nginx: {content: "listen = unix\\nproxy=behind-an-equals\\n"}
secrets:
  key: {file: ./keys/key.pem}
  mail: {file: ./keys/mail.yaml}
  inline: {environment: INLINE}
  gone: {file: ./keys/gone}
`,
    'app.env': `FROM_FILE=from-env-file\nDERIVED=pre-\${SHORT}x-post\n`,
    'raw.env': 'RAW="quoted # raw"\nHALF=half # of it\n',
    'broken.env': 'FINE=1\nfrom+broken/line\n#DB_PASSWORD: once-was-here\n',
    'base/base.yaml': 'services: {base: {image: acme/svc, env_file: [base.env]}}\n',
    'base/base.env': 'X=from-extended\n',
    'sub/compose.yaml': 'services: {extra: {image: "acme/extra"}}\n',
    'sub/.env': 'SUB=from-included\n',
    'labels.txt': 'svc.token=labelled-in-a-file\n',
    'keys/key.pem': '-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkq\n-----END PRIVATE KEY-----\n',
    'svc.ini': '[mail]\nhost = mail.example.org\npassword = set-in-a-config\n',
    'keys/mail.yaml': 'user: kim\npassword: "behind-a-colon"\n',
  });

describe('the log', () => {
  it.each(Object.entries(planted))('masks %s', async (_, secret) => {
    const printed = [
      secret,
      `near ${JSON.stringify(`A=${secret}\nB=1`)}`,
      JSON.stringify(secret.replaceAll('$', '$$$$')),
      `/opt/${secret}/x`,
    ];
    for (const line of await logged(await files(), printed)) {
      expect(line).not.toContain(secret);
      expect(line).not.toContain(JSON.stringify(secret).slice(1, -1));
    }
  });

  it('does not mask names of services, images, paths, versions and words of the log', async () => {
    const said = [
      'postgres is unhealthy; ghcr.io/acme/svc:v1.4.2, postgres:17, /opt/postgres/data, SMTP_PASSWORD in .env line 2',
      'recreate unchanged cancelled pull-unknown verify v1.10.20',
      `${directory}/keys/key.pem ${directory}/svc.ini app.env base.env`,
      'host = mail.example.org, /run/secrets/token, --quiet, entrypoint:, listed-as-a-service',
    ];
    const log = logOf();
    log.log.addMaskRules(() => createContainerMaskRules([container('app-1')]));
    log.log.addMaskRules(() => ({ secrets: [{ key: 'MODE_KEY', value: 'recreate' }] }));
    const lines = await logged(await files(), said, log);
    expect(lines.filter((_, index) => index % 2 === 0)).toEqual(said.map((text) => `it said: ${text}`));
  });

  it('masks values of files that are not valid compose files', async () => {
    const broken = await project({
      '.env': 'A=1\nB C=spaced-name-value\nSECRET=behind-the-bad-line\n',
      'compose.yaml': 'services:\n  app: {image: x, environment: {A: "literal-in-yaml"}\n',
    });
    const lines = await logged(broken, ['literal-in-yaml', 'spaced-name-value', 'behind-the-bad-line']);
    expect(lines.join('\n')).not.toMatch(/literal|spaced|behind/);
  });

  it('masks values of containers, of the compose model, and of rules that are added later', async () => {
    const { log, lines } = logOf();
    const env = new Map([['NOTE', 'set-by-a-shell']]);
    log.addMaskRules(() => createContainerMaskRules([container('app-1', { env })]));
    log.addMaskRules(() =>
      createModelMaskRules({
        name: 'svc',
        services: { app: { environment: { NEW: 'pa$$word-ahead', NONE: null } } },
        configs: { c: { content: 'key: of-the-model' } },
      }),
    );
    log.info('set-by-a-shell, pa$word-ahead, pa$$word-ahead, of-the-model');
    log.addMaskRules(() => ({ secrets: [{ key: '', value: 'put-there-later' }] }));
    log.info('set-by-a-shell, put-there-later');
    expect(lines.filter((line) => line !== '{}')).toEqual(['***, ***, ***, ***', '***, ***']);
  });

  it.each(['x-$' + '{y!in-the-middle}', '$' + '{NONE:?in-the-middle}', '"$' + '{in-the-middle"'])(
    'does not quote the value if A=%s cannot be parsed',
    (value) => {
      const read = () => createVariableLookup([{ path: '/opt/svc/.env', text: `A=${value}` }])('A');
      expect(read).toThrow(/A in \.env line 1/);
      expect(read).not.toThrow(/middle/);
    },
  );
});
