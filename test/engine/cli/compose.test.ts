import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Compose } from '../../../src/engine/cli/compose.ts';
import { Engine } from '../../../src/engine/cli/engine.ts';
import { temporaryDirectory } from '../../rig/temporary-directory.ts';
import { startPlainEngine } from '../http-engine.ts';

let directory = '';
beforeEach(async () => {
  directory = await temporaryDirectory();
  vi.stubEnv('PATH', `${directory}:${process.env.PATH}`);
});
afterEach(() => void vi.unstubAllEnvs());

/** A compose that runs `answers`, or `answersWithout` if it must not read env files. */
async function composeThat(answers: string, answersWithout: string) {
  const script = [
    `echo "$*" >>${directory}/asked`,
    `case "$*" in *--no-env-resolution*) ${answersWithout};; *) ${answers};; esac`,
  ];
  await writeFile(join(directory, 'docker'), `#!/bin/sh\n${script.join('\n')}\n`);
  await chmod(join(directory, 'docker'), 0o755);
  const address = { host: 'unix:///nonexistent', tls: [], configDirectory: directory };
  const engine = new Engine(address, { home: '/home/of-updater' });
  return { engine, compose: new Compose(engine, { name: 'svc', directory, files: [], envFiles: [] }) };
}

const asked = async () => (await readFile(join(directory, 'asked'), 'utf8')).trimEnd().split('\n');
const model = (text: string) => `echo '{"name":"svc","services":{"app":${text}}}'`;
const missing = 'echo "env file /opt/svc/db.env not found: no such file or directory" >&2; exit 1';

it('reads the values of env files to mask them', async () => {
  const { compose } = await composeThat(model('{"environment":{"A":"1"}}'), missing);
  expect((await compose.config()).services).toEqual({ app: { environment: { A: '1' } } });
  expect(await asked()).toHaveLength(1);
});

it.each([
  ['a command', true, 2],
  ['no command that must run only once', false, 1],
])('repeats %s after a lost connection', async (_, repeatable, count) => {
  const lost = 'echo "error during connect: EOF" >&2; exit 1';
  await composeThat(`[ $(wc -l <${directory}/asked) -gt 1 ] || { ${lost}; }`, 'true');
  const host = await startPlainEngine((_, to) => void to.end('{}'));
  const engine = new Engine({ host, tls: [], configDirectory: directory }, { home: '/' });
  await engine.getInfo();
  const { exitCode } = await engine.call(['stack', 'ls'], { repeatable });
  expect(exitCode).toBe(repeatable ? 0 : 1);
  expect(await asked()).toHaveLength(count);
});

it('ignores the values of env files if compose 5 cannot read an env file', async () => {
  const { compose } = await composeThat(missing, model('{}'));
  expect((await compose.config()).services).toEqual({ app: {} });
});

it('reports the error of compose if an env file is required', async () => {
  const { compose } = await composeThat(missing, missing);
  await expect(compose.config()).rejects.toThrow('/opt/svc/db.env not found');
});

it('tries --no-env-resolution only once with a compose before 2.35', async () => {
  const unknown = 'echo "unknown flag: --no-env-resolution" >&2; exit 16';
  const { compose } = await composeThat(missing, unknown);
  for (const count of [2, 3]) {
    await expect(compose.config()).rejects.toThrow('/opt/svc/db.env not found');
    expect(await asked()).toHaveLength(count);
  }
});

it.each([
  ['of a dependency', 'helper', 0],
  ['of the service itself', 'app', 1],
])('removes the models of dependencies from the configuration: models %s', async (_, user, exitCode) => {
  const needs = `case "$*" in *svc-updater-models-*) cat "$(echo "$*" | sed 's/.*--file \\(.*override.yaml\\).*/\\1/')" >${directory}/override; exit 0;; esac; echo "'models' support requires Docker Model plugin" >&2; exit 1`;
  const services = `echo '{"name":"svc","services":{"app":{},"${user}":{"models":{"small":null}}}}'`;
  const { compose } = await composeThat(
    `case "$*" in *" config "*) ${services};; *) ${needs};; esac`,
    'false',
  );
  const result = await compose.up(new Map([['app', 1]]), { start: true, deadlineMs: 10_000 });
  expect(result.exitCode).toBe(exitCode);
  if (exitCode === 0)
    expect(await readFile(join(directory, 'override'), 'utf8')).toBe(
      '{"models": !reset {}, "services": {"helper": {"models": !reset []}}}',
    );
});

it('does not treat a service name as an option', async () => {
  const { compose } = await composeThat('true', 'true');
  await compose.pull(['--quiet', 'app'], '/override.yaml', {
    deadlineMs: 10_000,
    onStderrLine: () => {},
    oneByOne: false,
  });
  await compose.up(new Map([['-x', 1]]), { start: true, deadlineMs: 10_000 });
  expect(await asked()).toEqual([
    expect.stringMatching(/ pull --policy always -- --quiet app$/),
    expect.stringMatching(/ up --detach .* --scale -x=1 -- -x$/),
  ]);
});

it.each([
  ['nothing but this', {}, []],
  [
    'what keeps names that only an env file would change',
    { asksForNames: true },
    ['COMPOSE_COMPATIBILITY=false'],
  ],
  ['no such thing where names are the old ones', { asksForNames: true, oldNames: ['app'] }, []],
])('sets in the environment of compose, to replace a container, %s', async (_, names, more) => {
  vi.stubEnv('SVC_VERSION', 'v9.9.9');
  const { engine } = await composeThat("tr '\\0' '\\n' </proc/$$/environ", 'true');
  const project = { name: 'svc', directory, files: [], envFiles: [], ...names };
  const scale = new Map([['app', 1]]);
  const { stdout } = await new Compose(engine, project).up(scale, { start: true, deadlineMs: 10_000 });
  const always = ['HOME=/home/of-updater', `PATH=${process.env.PATH}`, `PWD=${directory}`];
  expect(stdout.trimEnd().split('\n').toSorted()).toEqual([...more, ...always].toSorted());
});
