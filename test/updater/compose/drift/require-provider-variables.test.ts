import { expect, it } from 'vitest';
import { requirePin } from '../../../../src/core/compose/pins/find-pin.ts';
import type { DriftChange } from '../../../../src/updater/compose/drift/changes.ts';
import { requireProviderVariables } from '../../../../src/updater/compose/drift/require-provider-variables.ts';
import { container } from '../../../build.ts';
import { composeText, modelOf, projectFiles } from '../../../build-plan.ts';

// For `setenv` messages, compose 5.4 prefixes the variable with the service's name in capitals; for `rawsetenv`, not.

const files = projectFiles({
  'compose.yaml': composeText({ app: 'acme/svc:v1.0.0', worker: 'acme/svc:v1.0.0' }),
});
const model = modelOf(files, {
  app: { depends_on: { 'data-base': {} } },
  worker: { depends_on: { app: {} } },
});
model.services['data-base'] = { provider: { type: 'cloud' } };
const services = ['app', 'worker'].map((name) => ({
  ...{ name, pin: requirePin(files, name), containers: [container(`${name}-1`)], running: 1, stopped: [] },
}));

const variable = (
  item: string,
  running: string | null,
  planned: string | null,
  service = 'app',
): DriftChange => ({
  ...{ service, kind: 'difference' as const },
  difference: { section: 'environment', item, running, planned },
});
const refuse = (
  changes: readonly (readonly [DriftChange, readonly string[]])[],
  { to = 'acme/svc:v1.1.0', accepted = false } = {},
) =>
  requireProviderVariables({ model, services }, changes, {
    planned: new Map([
      ['app', to],
      ['worker', to],
    ]),
    accepted,
  });

it.each<[string, DriftChange, readonly string[], isSure: boolean]>([
  ['that is lost', variable('DATA-BASE_URL', '"x"', null), [], true],
  ['that is lost and that the files name', variable('DATA-BASE_URL', '"x"', null), ['y'], true],
  ['that the files set to another value', variable('DATA-BASE_URL', '"x"', '"y"'), ['y'], false],
  ['without a prefix', variable('TOKEN', '"x"', null), [], false],
])('refuses the update for a provider variable %s', (_, change, texts, isSure) => {
  const { item } = change.kind === 'difference' ? change.difference : { item: '' };
  const error = expect.objectContaining({
    code: 'drift',
    message: `app: provider data-base ${isSure ? 'sets' : 'may set'} ${item}; the updater cannot run providers, so the new container would lose these values`,
    advice: `Set the new version manually (image of app in compose.yaml line 3, image of worker in compose.yaml line 5), then run {compose} pull app worker && {compose} up -d app worker on the host, where the provider is installed.${isSure ? '' : ' If no provider sets these variables, use --accept-drift.'}`,
  });
  expect(() => refuse([[change, texts]])).toThrow(error);
  // --accept-drift accepts only changes that the owner may have made.
  const accepting = expect(() => refuse([[change, texts]], { accepted: true }));
  if (isSure) accepting.toThrow(error);
  else accepting.not.toThrow();
});

it('reports that no update is necessary if the new version is already running', () => {
  expect(() => refuse([[variable('TOKEN', '"x"', null), []]], { to: 'acme/svc:v1.0.0' })).toThrow(
    expect.objectContaining({
      message: expect.stringContaining('already running'),
      advice: 'No update is necessary.',
    }),
  );
});

it.each<[string, DriftChange, readonly string[]]>([
  ['a new variable', variable('DATA-BASE_URL', null, '"x"'), ['x']],
  ['a variable that the files set', variable('TOKEN', '"x"', '"y"'), ['y']],
  ['a variable that only a shell sets', variable('TOKEN', '"x"', null), [`\${TOKEN}`]],
  ['a variable of a service without a provider', variable('DATA-BASE_URL', '"x"', null, 'worker'), []],
  [
    'a label',
    {
      service: 'app',
      kind: 'difference',
      difference: { section: 'labels', item: 'a', running: '"x"', planned: null },
    },
    [],
  ],
])('does not refuse the update for %s', (_, change, texts) => {
  expect(() => refuse([[change, texts]])).not.toThrow();
});
