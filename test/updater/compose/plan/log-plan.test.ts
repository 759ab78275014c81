// biome-ignore-all lint/suspicious/noTemplateCurlyInString: compose's own variables
import { expect, it } from 'vitest';
import type { Installation } from '../../../../src/updater/compose/inspect/installation.ts';
import { logComposeFileReminder, logPlan } from '../../../../src/updater/compose/plan/log-plan.ts';
import { container } from '../../../build.ts';
import { composeText, generated, installed, planTo, rememberingLog } from '../../../build-plan.ts';

function lines(from: Installation, to: string | null) {
  const { log, lines, fields } = rememberingLog();
  logPlan(planTo(to, from), log);
  return { lines, fields };
}

const both = (reference: string) => composeText({ app: reference, worker: reference });
const variable = both('acme/svc:${V}');
const floats = { 'compose.yaml': both('acme/svc:${V:-latest}') };
const move = 'change V in .env line 1 to v1.1.0';

it.each<[string, Record<string, string>, Installation['kind'], string | null, string]>([
  [
    'a place that both share, once',
    { 'compose.yaml': variable, '.env': 'V=v1.0.0' },
    'user-written',
    'v1.1.0',
    `v1.0.0 → v1.1.0: ${move}, recreate app and worker`,
  ],
  [
    'two places',
    { 'compose.yaml': composeText({ app: 'acme/svc:v1.0.0', worker: 'acme/svc:1.0.0' }) },
    'user-written',
    'v1.1.0',
    'v1.0.0 → v1.1.0: change image of app in compose.yaml line 3 to v1.1.0, change image of worker in compose.yaml line 5 to 1.1.0, recreate app and worker',
  ],
  [
    'a generated file',
    { 'compose.yaml': generated({ app: 'acme/svc:${SVC_VERSION}' }), '.env': 'SVC_VERSION=v1.0.0' },
    'generated',
    'v1.1.0',
    "v1.0.0 → v1.1.0: install the release's compose file, change SVC_VERSION in .env line 1 to v1.1.0, recreate app",
  ],
])('describes %s in one line', (_, texts, kind, to, expected) => {
  expect(lines(installed(texts, { kind }), to).lines).toEqual([`info: ${expected}`]);
});

it('shows the name of an env file other than .env', () => {
  const from = installed(floats);
  const elsewhere = { ...from, files: { ...from.files, newEnvFile: '/opt/svc/prod.env' } };
  expect(lines(elsewhere, 'canary').lines[0]).toContain('set V to canary in prod.env,');
});

it.each<[string[], string]>([
  [['proxy-1', 'db-1', 'db-2', 'app-1'], '; db and proxy are not updated'],
  [[], ''],
])('lists services that are not updated: %j', (places, expected) => {
  const containers = places.map((place) => container(place));
  const from = installed({ 'compose.yaml': both('acme/svc:v1.0.0') }, { containers });
  expect(lines(from, 'v1.1.0').lines[0]?.replace(/.*recreate app and worker/, '')).toBe(expected);
});

it('lists followers among the recreated services', () => {
  const texts = { 'compose.yaml': composeText({ app: 'acme/svc:v1.0.0' }) };
  const from = installed(texts, { followers: { tail: [container('tail-1')] } });
  expect(lines(from, 'v1.1.0').lines[0]).toMatch(/, recreate app and tail$/);
});

it('logs the target as a field, and the warnings of the plan', () => {
  const told = lines(installed({ 'compose.yaml': composeText({ app: 'acme/svc:v1.0.0' }) }), 'v2.0.0');
  expect(told.fields[0]).toEqual({ from: 'v1.0.0', to: 'v2.0.0' });
  expect(told.lines[1]).toBe(
    'warn: v1.0.0 → v2.0.0 changes the major version. Back up the database first or use --restore-point; otherwise, the data cannot be restored',
  );
});

interface RecallParts {
  named?: boolean;
  exclude?: string[];
  kind?: Installation['kind'];
}

it.each<[string, string, string, RecallParts, boolean]>([
  ['a minor version', '1.0.0', 'v1.1.0', {}, true],
  ['a month', '2025.10.2', '2025.12.1', {}, true],
  ['a patch', '1.0.0', 'v1.0.1', {}, false],
  ['a word', '1.0.0', 'release', {}, false],
  ['services that nobody has named', '1.0.0', 'v1.1.0', { named: false }, false],
  ['a generated install', '1.0.0', 'v1.1.0', { kind: 'generated' }, false],
])(
  'logs a reminder to compare the compose files if the release may have a new one: %s',
  (_, from, to, changes, isSaid) => {
    const { log, lines } = rememberingLog();
    const { named: servicesNamed = true, exclude = [], kind = 'user-written' } = changes;
    const installation = installed({ 'compose.yaml': composeText({ app: 'acme/svc' }) }, { kind });
    logComposeFileReminder({ installation, from, to }, { servicesNamed, exclude }, log);
    const said = `info: if ${to} comes with a new compose file, compare it with yours: the update changes only the versions in your file`;
    expect(lines).toEqual(isSaid ? [said] : []);
  },
);
