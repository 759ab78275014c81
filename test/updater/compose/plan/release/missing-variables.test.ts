import { describe, expect, it } from 'vitest';
import { setProjectFile } from '../../../../../src/core/compose/project-files.ts';
import { UpdateError } from '../../../../../src/core/errors/update-error.ts';
import {
  createMissingVariablesError,
  findEmptyVariableWarnings,
  requireSecretValues,
} from '../../../../../src/updater/compose/plan/release/missing-variables.ts';
import { container, installation } from '../../../../build.ts';

const path = '/opt/svc/compose.yaml';
const head = 'services:\n  app:\n    image: svc:v1\n  worker:\n    image: svc:v1\n';
const rejected = new UpdateError(
  'compose-invalid',
  'compose rejects the project: required variable NEW_TOKEN is missing a value',
);

/** An install with this `.env`, and a release whose compose file contains this text. */
function given(text: string, env = 'SET=1\nNOTHING=\n', before = '') {
  const files = {
    composeFiles: [{ path, text: `${head}${before}` }],
    envFiles: [{ path: '/opt/svc/.env', text: env }],
    newEnvFile: '/opt/svc/.env',
  };
  const fresh = { path, text: `${head}${text}` };
  const draft = { files: setProjectFile(files, fresh), changes: [] };
  const followers = { tail: [container('tail-1')] };
  const install = installation(files, { name: 'svc', services: {} }, { kind: 'generated', followers });
  return { install, draft, release: [{ ...fresh, description: '' }] };
}

const uses = (...texts: string[]) => texts.map((text, at) => `x-${at}: "${text}"\n`).join('');

describe('unset variables of a release', () => {
  it('are all reported at once, with the lines to add', () => {
    const { install, draft, release } = given(
      `# \${COMMENTED:?}\n${uses(`\${SET:?}`, `\${NEW_TOKEN:?say it}`, `\${SET:-\${INNER?}}`, `\${NOTHING?}`, `\${NOTHING:?}`, `$\${NOT_ONE:?}`)}`,
    );
    expect(createMissingVariablesError(install, draft, release, rejected)).toMatchObject({
      code: 'missing-variable',
      outcome: 'refused',
      message: 'no file sets NEW_TOKEN, INNER and NOTHING, but the release requires a value',
      advice: 'Add NEW_TOKEN=…, INNER=… and NOTHING=… to /opt/svc/.env, then run {command} again.',
    });
  });

  it('are not reported if compose rejects the files for another reason', () => {
    const { install, draft, release } = given(uses(`\${NEW_TOKEN:?}`));
    const other = new UpdateError('compose-invalid', 'compose rejects the project: no such key');
    expect(createMissingVariablesError(install, draft, release, other)).toBeNull();
    const set = given(uses(`\${SET:?}`));
    expect(createMissingVariablesError(set.install, set.draft, set.release, rejected)).toBeNull();
  });

  it.each<[string, string, string, string | null]>([
    ['without a default', uses(`\${FRESH}`, '$PLAIN'), '', 'FRESH and PLAIN'],
    ['in a default that is taken', uses(`\${UNSET:-\${FRESH}}`), '', 'FRESH'],
    ['in a default that is not taken', uses(`\${SET:-\${FRESH}}`), '', null],
    ['with a default, or set to nothing', uses(`\${FRESH:-x}`, `\${NOTHING}`), '', null],
    ['that stood for nothing already', uses(`\${OLD}`), uses(`\${OLD}`), null],
    ['as the key of a mapping', `x-map: { "\${FRESH}": 1 }\n`, '', null],
  ])('may cause a warning: a variable %s', (_, text, before, names) => {
    const { install, draft, release } = given(text, undefined, before);
    const warnings = findEmptyVariableWarnings(install, draft, release);
    expect(warnings).toEqual(
      names === null
        ? []
        : [expect.stringContaining(`no file sets, so their values will be empty: ${names}. `)],
    );
  });

  it('are rejected for secrets, because compose detects them too late', () => {
    const { install, draft } = given('');
    const model = (environment: string, service = 'app') => ({
      name: 'svc',
      services: { [service]: { secrets: [{ source: 'token' }] } },
      secrets: { token: { environment } },
    });
    for (const service of ['app', 'worker', 'tail']) {
      expect(() => requireSecretValues(install, draft, model('TOKEN', service))).toThrow(
        expect.objectContaining({
          code: 'missing-variable',
          advice: expect.stringContaining('Add TOKEN=… to'),
        }),
      );
    }
    expect(() => requireSecretValues(install, draft, model('TOKEN', 'db'))).not.toThrow();
    expect(() => requireSecretValues(install, draft, model('SET'))).not.toThrow();
  });
});
