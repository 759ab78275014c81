import { chmod, mkdir, readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { describe, expect, inject, onTestFinished, test } from 'vitest';
import { type ProgressEvent, phases } from '../../src/progress/event.ts';
import { parseLine } from '../../src/progress/line.ts';
import { callsOfTrace } from '../documents/calls.ts';
import { endingOf, messages } from '../judge/log.ts';
import { startBadRegistry } from '../rig/bad-registry.ts';
import { composeText, generatedCompose } from '../rig/compose-text.ts';
import type { UpdateResult } from '../rig/updater-run.ts';
import { runUpdater } from './support/good-run.ts';
import { alone, createInstance, type Instance } from './support/instance.ts';

// What an operator reads, what the server parses, and what must never be in either (docs/contract.md 6.1 to docs/contract.md 6.10).

const lastRun = (instance: Instance) => instance.read('.svc-updater/last-run.log');
const lines = (text: string) => text.split('\n').filter((line) => line !== '');

/** Every line of the text is an event. */
function parsed(text: string): ProgressEvent[] {
  return lines(text).map((line) => {
    const event = parseLine(line);
    if (event === null) throw new Error(`no line of the log's format: ${line}`);
    return event;
  });
}

/** The events of `--log json`. */
function parsedJson(text: string): ProgressEvent[] {
  return lines(text).map((line) => {
    const { level, time, phase, percent, msg } = JSON.parse(line);
    const levels: Record<number, ProgressEvent['level']> = { 30: 'info', 40: 'warn', 50: 'error' };
    const known = levels[level];
    if (known === undefined) throw new Error(`no level: ${line}`);
    return { time, level: known, phase, ...(percent === undefined ? {} : { percent }), message: msg };
  });
}

/** Times and phases move forward only, percent never goes back within a phase, and the end is one line of `done`. */
function expectForward(events: readonly ProgressEvent[]): void {
  const percent = new Map<string, number>();
  for (const [index, event] of events.entries()) {
    const before = events[index - 1] ?? event;
    expect(phases.indexOf(event.phase)).toBeGreaterThanOrEqual(phases.indexOf(before.phase));
    expect(Date.parse(event.time)).toBeGreaterThanOrEqual(Date.parse(before.time));
    if (event.percent === undefined) continue;
    expect(event.percent).toBeGreaterThanOrEqual(percent.get(event.phase) ?? 0);
    percent.set(event.phase, event.percent);
  }
  expect(events.at(-1)?.phase).toBe('done');
}

/** What must be nowhere, and its forms in JSON, in a URL and in base64. */
const secrets = {
  DB_PASSWORD: 'correct horse battery',
  SMTP_PASS: 'pa$$"w0rd\'s',
  API_TOKEN: 'tok4',
  PLAIN: 'eightlet',
  QUOTED: 'two\\nlines of it',
  FROM_FILE: 'only-in-a-file-of-its-own',
  LITERAL: 'written-in-the-compose-file',
  HASHED: 'Xk9#mQ7w2',
  AFTER: '#begins-so',
  NESTED: 'outer-eightlet',
  TWICE: 'the-older-of-two',
  LATER: 'put-there-since-the-start',
  COMMENT: 'out-of-use-since-may',
  TRAILING: 'said-behind-the-version',
  PEM: 'MIIEvQIBADANBgkqhkiG9w0BAQEFAASC',
  MAIL: 'behind-a-colon',
  NGINX: 'basic c3ZjOnB3',
  INLINE: 'behind-an-equals-sign',
};
/** Shown all the same: the name of a service, and a key that only sounds secret. */
const shown = { POSTGRES_DB: 'tunnel', MONKEY: 'george' };

function expectNoSecrets(text: string): void {
  const forms = Object.values(secrets).flatMap((value) => [
    value,
    JSON.stringify(value).slice(1, -1),
    encodeURIComponent(value),
    value.replaceAll('$', '$$$$'),
  ]);
  for (const form of [...forms, 'lines of it', 'hunter2', 'url-password']) expect(text).not.toContain(form);
}

const env = `SMTP_PASS='pa$$"w0rd\\'s'
API_TOKEN=tok4
PLAIN=eightlet
QUOTED="two\\nlines of it"
DATABASE_URL=postgres://svc:url-password@db/svc
HASHED=${secrets.HASHED}
AFTER=${secrets.AFTER}
NESTED=outer-\${PLAIN}
TWICE=${secrets.TWICE}
TWICE=2
MONKEY=${shown.MONKEY}
POSTGRES_DB=${shown.POSTGRES_DB}
`;

const app = `env_file: [app.env, .env]
secrets: [key, mail]
configs: [{source: nginx, target: /etc/nginx.conf}]`;
const stores = `
secrets:
  key: { file: ./keys/key.pem }
  mail: { file: ./keys/mail.yaml }
configs:
  nginx:
    content: |
      auth ${secrets.NGINX}
      token=${secrets.INLINE}
`;

/** Prints its password and ends. */
const talkative = {
  entrypoint: [
    '/bin/sh',
    '-c',
    'echo "connecting as svc:$DB_PASSWORD with $API_TOKEN, $MONKEY at $POSTGRES_DB"; echo "$LITERAL" >&2; env; cat /run/secrets/* /etc/nginx.conf; exit 1',
  ],
};

async function withSecrets(registry?: string): Promise<Instance> {
  return createInstance({
    layout: (c) => ({
      files: {
        'compose.yaml': composeText({
          app: `${c.image}:\${SVC_VERSION}`,
          parts: c.parts,
          extra: { app, worker: 'env_file: [.env]' },
          tail: stores,
        }).replaceAll('      SVC_HOST:', `      LITERAL: ${secrets.LITERAL}\n      SVC_HOST:`),
        '.env': `SVC_PORT=${c.port}
DB_PASSWORD='${secrets.DB_PASSWORD}'
# SMTP_PASS=${secrets.COMMENT}
SVC_VERSION=${c.tag} # ${secrets.TRAILING}
${env}`,
        'keys/key.pem': `-----BEGIN PRIVATE KEY-----\n${secrets.PEM}\n-----END PRIVATE KEY-----\n`,
        'keys/mail.yaml': `host: mail\npassword: "${secrets.MAIL}"\n`,
        'app.env': `FROM_FILE=${secrets.FROM_FILE}\nAPI_TOKEN=tok4\n`,
      },
      flags: [],
    }),
    publish: ['v1.1.0', 'v1.2.0'],
    ...(registry === undefined ? {} : { registry }),
  });
}

const isTrace = (line: string) => line.startsWith('trace ');

/** Every child process and every request to the engine, with its beginning and its end; see documents.test.ts for which. */
function expectTrace(log: string): void {
  expect(callsOfTrace(log)).toContain('docker compose up');
  for (const line of lines(log).filter(isTrace)) {
    const [from, to] = line.match(/\d+/g) ?? [];
    expect(Number(from), line).toBeLessThanOrEqual(Number(to));
  }
}

test('no secret is in any line of any run, image references and paths are', async () => {
  const registry = await startBadRegistry(inject('host').registry);
  onTestFinished(() => registry.close());
  const instance = await withSecrets(registry.host);
  await instance.publish('v1.3.0', talkative);
  await instance.write('app.env', `${await instance.read('app.env')}LATER=${secrets.LATER}\n`);
  const runs: [UpdateResult, string][] = [];
  for (const format of ['line', 'json']) {
    const log = ['--log', format];
    const target = format === 'line' ? 'v1.1.0' : 'v1.2.0';
    const plan = await runUpdater(instance, ['plan', '--target', target, ...log]);
    expect(plan.log).toContain(`+SVC_VERSION=${target} # …`);
    expect(plan.log).not.toMatch(/API_TOKEN|SMTP_PASS/);
    runs.push([plan, format]);
    const bump = ['bump', '--dry-run', '--to', target, '--dir', instance.directory];
    const bumped = await runUpdater(instance, [...bump, '--service', 'app', ...log], { socket: null });
    expect(bumped.log).toContain(`+SVC_VERSION=${target} # …`);
    runs.push([bumped, format]);
    runs.push([await runUpdater(instance, log), format]);
    for (const release of ['v9.9.9', target]) {
      const isTraced = release === 'v1.1.0';
      const result = await runUpdater(instance, ['--target', release, ...log], {
        ...(isTraced ? { env: { SVC_UPDATER_TRACE: '1' } } : {}),
        // As little memory as the README says that it takes.
        docker: ['--memory=128m', '--memory-swap=128m'],
      });
      if (isTraced) expectTrace(result.log);
      else expect(lines(result.log).filter(isTrace)).toEqual([]);
      expect(result.log).toContain(`${instance.image}:${release}`);
      expect(result.log).toContain(instance.directory);
      runs.push([result, format]);
    }
  }
  runs.push([await runUpdater(instance, ['--target', 'v1.2.0']), 'line']);
  registry.fail({ kind: 'stall' });
  const cancelled = instance.startUpdate(['--target', 'v1.3.0', '--log', 'json']);
  await cancelled.waitFor('inspect');
  await cancelled.kill('SIGTERM');
  runs.push([await cancelled.done, 'json']);
  registry.fail(null);
  const broken = await runUpdater(instance, ['--target', 'v1.3.0', '--wait-timeout', '3']);
  expect(broken.exitCode).toBe(5);
  expect(broken.log).toContain('connecting as svc:*** with ***, george at tunnel');
  runs.push([broken, 'line']);
  const bump = ['bump', '--to', 'v1.4.0', '--dir', instance.directory, '--service', 'app'];
  runs.push([await runUpdater(instance, bump, { socket: null }), 'line']);
  // Compose, and what reads for it, quote what they do not understand.
  await instance.write('app.env', `${await instance.read('app.env')}${secrets.PEM}+/\n`);
  runs.push([await runUpdater(instance, ['--target', 'v1.3.0']), 'line']);
  await instance.write('.env', `${await instance.read('.env')}BAD="${secrets.DB_PASSWORD}\n`);
  runs.push([await runUpdater(instance, ['--target', 'v1.3.0']), 'line']);
  const good = [0, 0, 3, 4, 0];
  expect(runs.map(([{ exitCode }]) => exitCode)).toEqual([...good, ...good, 0, 143, 5, 0, 3, 3]);
  for (const [{ log }, format] of runs) {
    expectNoSecrets(log);
    const story = lines(log)
      .filter((line) => !isTrace(line))
      .join('\n');
    expectForward(format === 'json' ? parsedJson(story) : parsed(story));
  }
  expectNoSecrets(await lastRun(instance));
});

test("a generated file's difference is shown by plan without secrets", async () => {
  const instance = await createInstance({ ...alone, kind: 'generated', env, publish: ['v1.1.0'] });
  const image = `${instance.image}:v1.1.0`;
  const changed = generatedCompose('v1.1.0').replaceAll(
    `\${SVC_HOST:-localhost}`,
    `\${SVC_HOST:-localhost}\n      SEED: ${secrets.DB_PASSWORD}`,
  );
  await instance.publish('v1.1.0', { files: { 'compose.yaml': changed } });
  const dark = await runUpdater(instance, ['plan', '--target', 'v1.1.0']);
  expect(dark.log).toContain('is not on this machine yet');
  await execa('docker', ['pull', '--quiet', image]);
  const plan = await runUpdater(instance, ['plan', '--target', 'v1.1.0']);
  expect(plan.exitCode).toBe(0);
  expect(plan.log).toMatch(/\+ +SEED: \*\*\*/);
  expectNoSecrets(plan.log);
  expectForward(parsed(plan.log));
});

describe('a pull that takes its time', () => {
  const slow = async () => {
    const registry = await startBadRegistry(inject('host').registry);
    onTestFinished(() => registry.close());
    const instance = await createInstance({ ...alone, registry: registry.host });
    await instance.publish('v1.1.0', { ballast: 9_000_000 });
    registry.fail({ kind: 'slow', bytesPerSecond: 1_500_000 }, { on: 'blobs' });
    return instance;
  };

  test('tells how far it is, and both formats tell the same', async () => {
    const instance = await slow();
    const result = await runUpdater(instance, ['--target', 'v1.1.0', '--log', 'json']);
    expect(result.exitCode).toBe(0);
    const events = parsedJson(result.log);
    expectForward(events);
    expect(events).toEqual(parsed(await lastRun(instance)));
    const percents = events.flatMap(({ phase, percent }) => (phase === 'pull' ? (percent ?? []) : []));
    expect(percents.length, result.log).toBeGreaterThan(2);
    expect(percents.some((percent) => percent > 0 && percent < 100)).toBe(true);
    expect(percents.at(-1)).toBe(100);
    expect(result.log).toMatch(/ \d+ of \d+ MB/);
  });
});

describe('how a run ends', () => {
  test('the last line states outcome, state and next command; last-run.log holds the whole log', async () => {
    const instance = await createInstance({ publish: ['v1.1.0', 'v1.1.1'] });
    const end = async (
      args: string[],
      expected: { code: number; word: string; says: (string | RegExp)[] },
    ) => {
      const result = await runUpdater(instance, args);
      expect(result.exitCode).toBe(expected.code);
      const events = parsed(result.log);
      expectForward(events);
      expect(endingOf(result)).toBe(expected.word);
      for (const text of expected.says) expect(events.at(-1)?.message).toMatch(text);
      expect(await lastRun(instance)).toBe(result.log);
      return result;
    };
    await end(['--target', 'v9.9.9'], {
      code: 4,
      word: 'failed',
      says: ['nothing was changed, v1.0.0 runs on', /published.*run the update again/],
    });
    await end([], {
      code: 3,
      word: 'refused',
      says: ['nothing was changed, v1.0.0 runs on', '--target vX.Y.Z'],
    });
    await end(['--target', 'v1.1.0'], {
      code: 0,
      word: 'updated',
      says: ['v1.0.0 → v1.1.0', `docker image rm ${instance.image}:v1.0.0`],
    });
    await end(['--target', 'v1.1.0'], {
      code: 0,
      word: 'unchanged',
      says: ['app and worker', 'v1.1.0', 'nothing to do'],
    });
    await end(['--target', 'v1.0.0'], {
      code: 3,
      word: 'refused',
      says: ['nothing was changed, v1.1.0 runs on', 'no downgrade'],
    });
    const broken = await end(['--target', 'v1.1.1', '--wait-timeout', '3'], {
      code: 5,
      word: 'broken',
      says: [`docker compose -p ${instance.project} ps`, `logs app worker`, 'run the update again'],
    });
    expect(messages(broken, 'error').some((line) => line.includes('svc: cannot read the settings'))).toBe(
      true,
    );
  });

  test('by a signal in the pull', async () => {
    const registry = await startBadRegistry(inject('host').registry);
    onTestFinished(() => registry.close());
    const instance = await createInstance({ ...alone, registry: registry.host });
    registry.fail({ kind: 'stall' });
    const run = instance.startUpdate(['--target', 'v1.1.0']);
    await run.waitFor(/INFO {2}plan /);
    await run.kill('SIGTERM');
    const result = await run.done;
    expect(result.exitCode).toBe(143);
    expect(endingOf(result)).toBe('cancelled');
    expect(result.lines.at(-1)?.message).toMatch(
      /^cancelled: nothing was changed, v1\.0\.0 runs on\. Next: Run the update again/,
    );
    expectForward(parsed(result.log));
    expect(await lastRun(instance)).toBe(result.log);
  });
});

test('.svc-updater is private, keeps out of repositories, and keeps the backups of five runs', async () => {
  const instance = await createInstance(alone);
  const state = join(instance.directory, '.svc-updater');
  // The clock was set back since: every name is later than that of this run.
  const old = [1, 2, 3, 4, 5, 6].map((day) => `2999010${day}T000000Z`);
  const mine = ['2020', 'mine'];
  for (const name of [...old, ...mine]) await mkdir(join(state, 'backup', name), { recursive: true });
  const env = await instance.read('.env');
  await chmod(state, 0o755);

  const result = await runUpdater(instance, ['--target', 'v1.1.0']);
  expect(result.exitCode).toBe(0);
  const mode = async (path: string) => ((await stat(join(state, path))).mode & 0o777).toString(8);
  expect(await mode('.')).toBe('700');
  expect(await mode('last-run.log')).toBe('600');
  expect(await readFile(join(state, '.gitignore'), 'utf8')).toBe('*\n');
  const kept = await readdir(join(state, 'backup'));
  const newest = kept.find((name) => /^2[0-8]\d{6}T\d{6}Z$/.test(name)) ?? 'none of this run';
  expect(kept.sort()).toEqual([...mine, newest, ...old.slice(2)].sort());
  expect(await readFile(join(state, 'backup', newest, '.env'), 'utf8')).toBe(env);
  expect(result.log).toContain(`.svc-updater/backup/${newest}/.env`);
});
