import { composeText } from '../../rig/compose-text.ts';
import type { Layout, LayoutContext } from '../../rig/layout.ts';

/** A secret in each place that docs/contract.md 6.6 lists. No log line may contain one. */
export const planted = {
  // The project's env files.
  singleQuotes: 'correct horse battery',
  escapes: 'pa$$"w0rd\'s',
  fourCharacters: 'tok4',
  plain: 'eightlet',
  hashInside: 'Xk9#mQ7w2',
  hashFirst: '#begins-so',
  hashInQuotes: 'quoted # and spaced',
  nested: 'outer-eightlet',
  overridden: 'the-older-of-two',
  exported: 'sent-by-export',
  colon: 'yaml-in-an-env-file',
  spaced: 'round-the-equals-sign',
  firstLine: 'first-line-of-two',
  secondLine: 'second-line-of-two',
  escapedLine: 'lines of it',
  dollar: 'cost$5-and$more',
  commentedOut: 'out-of-use-since-may',
  behindVersion: 'said-behind-the-version',
  aboveVersion: 'said-above-the-version',
  secondEnvFile: 'only-in-the-second-file',
  inUrl: 'url-password',
  // Services and their own env files.
  literal: 'written-in-the-compose-file',
  folded: 'folded-over-two-lines',
  listed: 'an-item-of-a-list',
  ofAnotherService: 'of-the-database-alone',
  envFile: 'only-in-a-file-of-its-own',
  envFileOfDb: 'only-for-the-database',
  optionalEnvFile: 'in-an-optional-file',
  addedSince: 'put-there-since-the-start',
  changedSince: 'was-there-at-the-start',
  assembledSince: 'part+part+part',
  fromShell: 'typed-in-a-shell-once',
  // Configs and secrets.
  secretFile: 'MIIEvQIBADANBgkqhkiG9w0BAQEFAASC',
  secretFileValue: 'behind-a-colon',
  inlineConfig: 'auth basic c3ZjOnB3',
  inlineConfigValue: 'behind-an-equals-sign',
  secretFromVariable: 'secret-by-way-of-a-variable',
  configFile: 'in-a-file-of-a-config',
  // Places that are not meant for secrets but are used for them.
  buildArgument: 'baked-into-an-image',
  label: 'stuck-on-a-container',
  option: 'told-as-an-option',
  hyphenOption: 'told-behind-a-hyphen',
  extension: 'kept-in-an-extension',
  composeComment: 'noted-beside-the-image',
  // The credentials of config.json.
  login: 'login-at-the-registry',
} as const;

/** Values that are not masked: the name of a service, and a key that only sounds secret. */
export const shown = { POSTGRES_DB: 'tunnel', MONKEY: 'george' };

/** Set in the shell that started the instance; no file contains it. */
export const shell = { FROM_SHELL: planted.fromShell };

export const configJson = (registry: string): string =>
  JSON.stringify({ auths: { [registry]: { auth: Buffer.from(`kim:${planted.login}`).toString('base64') } } });

/** A layout with a secret in every possible place. */
export function plantedLayout(c: LayoutContext): Layout {
  const text = composeText({
    head: `x-settings: { API_TOKEN: ${planted.extension} }\n`,
    app: `${c.image}:\${SVC_VERSION}`,
    parts: c.parts,
    environment: {
      LITERAL: planted.literal,
      FOLDED: `"${planted.folded.replace('-over-', '-over-\\\n        ')}"`,
      FROM_SHELL: `\${FROM_SHELL-}`,
    },
    extra: {
      app: `env_file: [app.env, { path: optional.env, required: false }, { path: missing.env, required: false }]
labels: { svc.token: ${planted.label} }
secrets: [key, mail, variable]
configs: [{ source: nginx, target: /etc/nginx.conf }, { source: ini, target: /etc/svc.ini }]`,
      worker: 'env_file: [app.env]',
      db: `env_file: [db.env]
environment: { ROOT_PASSWORD: ${planted.ofAnotherService}, PART: part }`,
      listing: `image: ${c.parts}/tunnel:1
environment: ['LISTED=${planted.listed}', 'PASSED_THROUGH']
command: [tunnel, --admin-password, ${planted.option}, --api-key, ${planted.hyphenOption}]
profiles: [never]
build: { context: ., args: { NPM_TOKEN: ${planted.buildArgument} } }`,
    },
    tail: `secrets:
  key: { file: ./keys/key.pem }
  mail: { file: ./keys/mail.yaml }
  variable: { environment: SECRET_SOURCE }
configs:
  nginx:
    content: |
      ${planted.inlineConfig}
      token=${planted.inlineConfigValue}
  ini: { file: ./svc.ini }
`,
  });
  return {
    files: {
      'compose.yaml': text.replace(
        '    command: app\n',
        `    # ${planted.composeComment}\n    command: app\n`,
      ),
      '.env': `SVC_PORT=${c.port}
DB_PASSWORD='${planted.singleQuotes}'
# SMTP_PASS=${planted.commentedOut}
# ${planted.aboveVersion}
SVC_VERSION=${c.tag} # ${planted.behindVersion}
SMTP_PASS='pa$$"w0rd\\'s'
API_TOKEN=${planted.fourCharacters}
PLAIN=${planted.plain}
QUOTED="two\\n${planted.escapedLine}"
HASHED=${planted.hashInside}
AFTER=${planted.hashFirst}
IN_QUOTES='${planted.hashInQuotes}'
NESTED=outer-\${PLAIN}
TWICE=${planted.overridden}
TWICE=2
export EXPORTED=${planted.exported}
COLON: ${planted.colon}
SPACED = ${planted.spaced}
LINES="${planted.firstLine}
${planted.secondLine}"
DOLLAR="cost\\$5-and\\$more"
SECRET_SOURCE=${planted.secretFromVariable}
DATABASE_URL=postgres://svc:${planted.inUrl}@db/svc
`,
      'more.env': `MORE=${planted.secondEnvFile}\n`,
      'app.env': `FROM_FILE=${planted.envFile}\nAPI_TOKEN=tok4\nMONKEY=${shown.MONKEY}\nPOSTGRES_DB=${shown.POSTGRES_DB}\nCHANGES=${planted.changedSince}\n`,
      'optional.env': `OPTIONAL=${planted.optionalEnvFile}\n`,
      'db.env': `OF_DB=${planted.envFileOfDb}\n`,
      'keys/key.pem': `-----BEGIN PRIVATE KEY-----\n${planted.secretFile}\n-----END PRIVATE KEY-----\n`,
      'keys/mail.yaml': `host: mail\npassword: "${planted.secretFileValue}"\n`,
      'svc.ini': `[mail]\nhost = mail\npassword = ${planted.configFile}\n`,
    },
    flags: ['--env-file', '.env', '--env-file', 'more.env'],
  };
}

const base64 = (text: string) => Buffer.from(text).toString('base64');

/** The forms in which a program may print a value. */
function formsOf(value: string): string[] {
  const json = (text: string) => JSON.stringify(text).slice(1, -1);
  const forms = [
    ...[value, json(value), value.replaceAll('$', '$$$$'), value.replaceAll("'", "'\\''"), base64(value)],
    ...[encodeURIComponent(value), encodeURIComponent(value).replaceAll('%20', '+')],
  ];
  // In base64, a shorter value leaves too few characters of its own.
  if (value.length >= 8) {
    forms.push(...['svc', 'user', 'admin'].map((user) => base64(`${user}:${value}\n`)));
    forms.push(Buffer.from(`${value}?>~`).toString('base64url'));
  }
  return [...new Set(forms)];
}

/** Secrets in comments, which no program reads: only a diff of the files could contain them. */
const inComments: readonly string[] = [planted.behindVersion, planted.aboveVersion, planted.composeComment];

/** Every secret in every form, in few lines, because the last 50 lines of an unhealthy container are logged. */
export function everything(): string {
  const values = Object.values(planted).filter((value) => !inComments.includes(value));
  const forms = values.flatMap(formsOf).map((form) => `<${form}>`);
  const lines = Array.from({ length: 10 }, (_, line) => forms.filter((_, at) => at % 10 === line).join(' '));
  return `${lines.join('\n')}\n`;
}

/** The secrets in a text, in any form, with their place: `plain: eightlet`. */
export const foundIn = (text: string): string[] =>
  Object.entries(planted).flatMap(([place, value]) =>
    formsOf(value)
      .filter((form) => text.includes(form))
      .map((form) => `${place}: ${form}`),
  );
