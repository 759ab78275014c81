import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest';
import { Engine } from '../../../../src/engine/cli/engine.ts';
import { composeLabels } from '../../../../src/engine/objects/labels.ts';
import {
  requireRestartableContainers,
  startMountCheck,
} from '../../../../src/updater/compose/checks/require-restartable-containers.ts';
import { container, foundInstance } from '../../../build.ts';
import { composeText, installed, runContext } from '../../../build-plan.ts';
import { startEngine } from '../../../engine/http-engine.ts';

// An engine for helper containers only. Its `docker` prints the files `out` and `err`.

let directory = '';
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'check-host-'));
  const start = `cat ${directory}/out; cat ${directory}/err >&2; [ ! -e ${directory}/hangs ] || exec sleep 60`;
  await writeFile(
    join(directory, 'docker'),
    `#!/bin/sh\ncase "$*" in *version*) echo 29;; *) ${start};; esac\n`,
  );
  await chmod(join(directory, 'docker'), 0o755);
  vi.stubEnv('PATH', `${directory}:${process.env.PATH}`);
});
afterEach(() => {
  vi.restoreAllMocks();
  for (const name of ['SIGINT', 'SIGTERM']) process.removeAllListeners(name);
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await rm(directory, { recursive: true, force: true });
});

type Json = Record<string, unknown>;

interface Host {
  /** The HostConfig of the app, and of the worker. */
  hosts?: readonly Json[];
  mounts?: readonly Json[];
  /** The standard output and error of `docker`. */
  out?: string;
  err?: string;
  /** HTTP status of the creation of a helper container; `said` is its error message. */
  status?: number;
  said?: string;
  /** Number of creations that fail first. */
  failures?: number;
  /** Whether the mounts are checked before compose's model is known. */
  isEarly?: boolean;
}

const data = { Type: 'bind', Source: '/srv/data', Destination: '/data', RW: true };
const ok = '{"result":{"tables":{"self":""},"directories":[true]}}\n';

/** Checks an app and a worker. Returns the HostConfig of each created helper container. */
async function check(asked: Host) {
  const { hosts = [], mounts = [data], out = ok, err = '', status = 201, said = 'no such device' } = asked;
  for (const [name, text] of Object.entries({ out, err })) await writeFile(join(directory, name), text);
  const created: Json[] = [];
  const running = (service: string, at: number) => ({
    Id: `${service}-1`,
    State: { Status: 'running', Running: true, Pid: 7 },
    Config: { Labels: labels(service) },
    HostConfig: { Runtime: 'runc', ...hosts[at] },
    Mounts: mounts,
  });
  const host = await startEngine((from, to) => {
    const url = from.url ?? '';
    let body = '';
    from.on('data', (chunk) => {
      body += chunk;
    });
    from.on('end', () => {
      const at = ['app', 'worker'].findIndex((name) => url.endsWith(`/${name}-1/json`));
      if (at >= 0) to.end(JSON.stringify(running(['app', 'worker'][at] ?? '', at)));
      else if (url === '/version') to.end('{"ApiVersion":"1.51","MinAPIVersion":"1.24"}');
      else if (url.includes('/info')) to.end('{"DockerRootDir":"/var/lib/docker"}');
      else if (url.includes('/containers/create')) {
        created.push(JSON.parse(body).HostConfig);
        to.writeHead(created.length > (asked.failures ?? 0) ? status : 500).end(
          `{"Id":"helper","message":"${said}"}`,
        );
      } else if (url.includes('/helper/json')) to.end('{"State":{"Running":false,"ExitCode":0}}');
      else to.end('[]');
    });
  });
  const { context } = runContext(new Engine({ host, tls: [], configDirectory: directory }, { home: '/' }));
  const services = Object.fromEntries(
    ['app', 'worker'].map((name) => [name, [container(`${name}-1`, { labels: labels(name) })]]),
  );
  const texts = { 'compose.yaml': composeText({ app: 'acme/svc:v1.0.0', worker: 'acme/svc:v1.0.0' }) };
  const project = installed(texts, { services });
  const dryRun = Promise.resolve({ requests: project.requests });
  const cachedEngine = context.engine.cached();
  const all = [...project.containers];
  const earlyCheck = asked.isEarly ? startMountCheck(context, foundInstance(), cachedEngine, all) : null;
  const input = { project, cachedEngine, dryRun, earlyCheck };
  await requireRestartableContainers(context, foundInstance(), input);
  return created;
}

const labels = (service: string) => ({
  [composeLabels.project]: 'svc',
  [composeLabels.service]: service,
  [composeLabels.number]: '1',
});

const withMounts = { PidMode: 'host', UsernsMode: 'host' };
const sysbox = { Runtime: 'sysbox-runc' };
const fluentd = { LogConfig: { Type: 'fluentd', Config: { tag: 'svc' } } };
const device = { Devices: [{ PathOnHost: '/dev/stick' }] };

it.each<[string, Host, readonly Json[]]>([
  ['the mounts alone', {}, [withMounts]],
  ['the mounts once, if their check has begun earlier', { isEarly: true }, [withMounts]],
  ['nothing', { mounts: [] }, []],
  [
    'another runtime, which may not allow namespaces of the host',
    { hosts: [sysbox] },
    [withMounts, { ...sysbox, UsernsMode: '' }],
  ],
  [
    'the same log server once',
    { mounts: [], hosts: [fluentd, fluentd] },
    [{ ...fluentd, NetworkMode: 'none' }],
  ],
  ['the same device once', { mounts: [], hosts: [device, device] }, [{ ...device, UsernsMode: '' }]],
  [
    'rights that need the namespaces of the host',
    { mounts: [], hosts: [{ Privileged: true, UsernsMode: 'host' }] },
    [{ Privileged: true, UsernsMode: 'host' }],
  ],
])('starts helper containers for %s', async (_, host, expected) => {
  const created = await check(host);
  expect(created).toHaveLength(expected.length);
  // Helper containers are created concurrently, so their order is undefined.
  expect(created).toEqual(expect.arrayContaining(expected.map((each) => expect.objectContaining(each))));
  for (const each of created) expect('PidMode' in each).toBe(Object(each.Mounts).length > 0);
});

it.each<[string, Host, string, string]>([
  [
    'the engine cannot start it',
    { out: '', err: 'Error response from daemon: no /srv/data' },
    'host-changed',
    'app:/data cannot be started again: Error response from daemon: no /srv/data',
  ],
  [
    'the engine cannot create it',
    { status: 500 },
    'host-changed',
    'app and worker cannot be started again: no such device',
  ],
  [
    'the log driver is missing',
    { status: 404, mounts: [], hosts: [fluentd], said: 'plugin \\"fluentd\\" not found' },
    'host-changed',
    'app cannot be started again with log driver fluentd: plugin "fluentd" not found',
  ],
  ['it was killed', { out: '' }, 'engine-unavailable', 'exit code 0'],
  ['the image of the updater is gone', { status: 404 }, 'engine-unavailable', 'is no longer on this machine'],
])('fails for a helper container if %s', async (_, host, code, message) => {
  await expect(check(host)).rejects.toMatchObject({ code, message: expect.stringContaining(message) });
});

it('creates a helper container again if the engine failed once', async () => {
  expect(await check({ mounts: [], hosts: [device], failures: 1 })).toHaveLength(2);
});

it('fails if the helper container does not start in time', async () => {
  await writeFile(join(directory, 'hangs'), '');
  const late = AbortSignal.timeout.bind(AbortSignal);
  const asked = vi.spyOn(AbortSignal, 'timeout').mockImplementation(() => late(300));
  await expect(check({ out: '' })).rejects.toMatchObject({
    code: 'host-changed',
    message:
      'app and worker cannot be started again: a mount, device or log server did not respond within 60 s',
  });
  expect(asked).toHaveBeenCalledWith(60_000);
  await rm(join(directory, 'hangs'));
});
