import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { HostPaths } from '../../../../src/core/mounts/host-paths.ts';
import { listProjectContainersWithCache } from '../../../../src/engine/containers/project-containers.ts';
import { composeLabels } from '../../../../src/engine/objects/labels.ts';
import { Notifier } from '../../../../src/notify/notifier.ts';
import { inspectInstallation } from '../../../../src/updater/compose/inspect/inspect-installation.ts';
import type { Installation } from '../../../../src/updater/compose/inspect/installation.ts';
import { Cancellation } from '../../../../src/updater/run/cancellation.ts';
import type { InterruptionPredicate } from '../../../../src/updater/run/state/rollout.ts';
import { container as built } from '../../../build.ts';
import { composeText, engineThat, rememberingLog, updateOptions } from '../../../build-plan.ts';
import { temporaryDirectory } from '../../../rig/temporary-directory.ts';

let root = '';
const { PATH } = process.env;
beforeEach(async () => {
  root = await temporaryDirectory();
  await mkdir(join(root, 'svc'));
});
afterEach(() => {
  process.env.PATH = PATH;
  for (const name of ['SIGINT', 'SIGTERM']) process.removeAllListeners(name);
});

const at = (name: string) => join(root, 'svc', name);

/** A container in a response of the engine; `labels` are added to the labels of compose. */
interface Told {
  status?: string;
  image?: string;
  /** Compose files from which it was started; `compose.yaml` by default. */
  files?: string[];
  labels?: Record<string, string>;
  network?: string;
  pid?: string;
  ipc?: string;
}

/** The response of the engine for a container such as `app-1`. */
function container(
  place: string,
  { status, image = 'svc:v1.0.0', files = ['compose.yaml'], labels = {}, network, pid, ipc }: Told = {},
) {
  const { id, name, labels: numbered } = built(place);
  const startedFrom = { [composeLabels.project]: 'svc', [composeLabels.files]: files.map(at).join() };
  return {
    Id: id,
    Name: `/${name}`,
    Image: 'sha256:old',
    State: { Status: status ?? 'running' },
    Config: { Image: image, Labels: { ...numbered, ...startedFrom, ...labels } },
    HostConfig: { NetworkMode: network, PidMode: pid, IpcMode: ipc },
  };
}

interface Case {
  /** By service and number: `app-1`. */
  containers?: Record<string, Told>;
  /** Files in addition to the default `compose.yaml`. */
  files?: Record<string, string>;
  argv?: string[];
  /** Labels in compose's model of the project. */
  labels?: Record<string, Record<string, string>>;
  wasInterrupted?: InterruptionPredicate;
  outside?: boolean;
}

/** Inspects a directory with these files; the model of compose is always that of the default file. */
async function inspect({
  containers = { 'app-1': {}, 'worker-1': {} },
  files = {},
  argv = [],
  labels = {},
  wasInterrupted = () => false,
  outside = false,
}: Case = {}): Promise<{ found: Installation; lines: string[] }> {
  const images = { app: 'svc:v1.0.0', worker: 'svc:v1.0.0', db: 'postgres:17' };
  const texts = { 'compose.yaml': composeText(images), ...files };
  for (const [name, text] of Object.entries(texts)) await writeFile(join(root, 'svc', name), text);
  const services = Object.fromEntries(
    Object.entries(images).map(([name, image]) => [name, { image, labels: labels[name] }]),
  );
  // Replaces docker: prints the model of the project for any command.
  await writeFile(join(root, 'docker'), `#!/bin/sh\necho '${JSON.stringify({ name: 'svc', services })}'\n`);
  await chmod(join(root, 'docker'), 0o755);
  process.env.PATH = `${root}:${PATH}`;

  const told = Object.entries(containers).map(([place, how]) => container(place, how));
  const engine = await engineThat((from, to) => {
    const id = /^\/containers\/([^/]+)\/json$/.exec(from.url ?? '')?.[1];
    // Without images, the requests of `up` are not recorded, because that needs a real compose.
    if (from.url?.startsWith('/images/')) return to.writeHead(404).end('{"message":"none"}');
    const list = told.map(({ Id, Config }) => ({ Id, Labels: Config.Labels }));
    to.end(JSON.stringify(id === undefined ? list : told.find(({ Id }) => Id === id)));
  });
  const directory = join(root, 'svc');
  const mounted = outside ? join(root, 'elsewhere') : root;
  const paths = new HostPaths([{ type: 'bind', source: mounted, destination: mounted, writable: true }]);
  const { log, lines } = rememberingLog();
  const context = {
    engine,
    options: updateOptions(...argv),
    log,
    cancellation: new Cancellation(log),
    notifier: new Notifier('svc', () => {}),
    startedAt: 0,
    beganAt: 0,
  };
  const own = built('updater-1');
  const place = { name: 'svc', directory, mountedAt: directory };
  const found = await inspectInstallation(
    context,
    {
      own,
      paths,
      location: place,
      platform: 'linux/amd64',
      composed: [],
      specifiedContainer: null,
    },
    { wasInterrupted, ...(await listProjectContainersWithCache(engine, 'svc')) },
  );
  return { found, lines };
}

const names = (list: readonly { name: string }[]) => list.map(({ name }) => name);

describe('inspectInstallation: the project', () => {
  it('reads files and env files from the labels of the app', async () => {
    const told = { files: ['a.yaml', 'b.yaml'], labels: { [composeLabels.envFiles]: at('prod.env') } };
    const files = {
      'a.yaml': composeText({ app: 'svc:v1.0.0' }),
      'b.yaml': 'services: {}',
      'prod.env': 'A=1',
    };
    const db = { image: 'postgres:v99.0.0' };
    const { found } = await inspect({ containers: { 'app-1': told, 'db-1': db }, files });
    expect(found.project).toEqual({
      name: 'svc',
      directory: join(root, 'svc'),
      files: [at('a.yaml'), at('b.yaml')],
      envFiles: [at('prod.env')],
    });
    expect(found.files.composeFiles.map(({ path }) => path)).toEqual([at('a.yaml'), at('b.yaml')]);
    expect(found.files.envFiles).toEqual([{ path: at('prod.env'), text: 'A=1' }]);
    expect(found.files.newEnvFile).toBe(at('prod.env'));
    // The version of the db is ignored.
    expect(found.runningVersion).toBe('1.0.0');
  });

  it.each([
    ['that runs, of several', 'running', 'a.yaml'],
    ['with the highest number, of several that do not', 'exited', 'b.yaml'],
  ])('reads the labels of the container %s', async (_, status, expected) => {
    const app = composeText({ app: 'svc:v1.0.0' });
    const { found } = await inspect({
      containers: {
        'app-1': { files: ['a.yaml'], status },
        'app-2': { files: ['b.yaml'], status: 'exited' },
      },
      files: { 'a.yaml': app, 'b.yaml': app },
    });
    expect(found.project.files).toEqual([at(expected)]);
  });

  const own = '# svc:generated\nservices: {app: {image: svc:v1.0.0}}\n';
  const user = composeText({ app: 'svc:v1.0.0' });
  it.each<[string, Record<string, string>, Installation['kind']]>([
    ['compose.yaml with the marker', { 'compose.yaml': own }, 'generated'],
    [
      'compose.cluster.yaml beside a file of the user',
      { 'compose.yaml': user, 'compose.cluster.yaml': own },
      'user-written',
    ],
    ['compose.cluster.yaml alone', { 'compose.cluster.yaml': own }, 'generated'],
    ['compose.yaml of another directory', { 'site.yaml': user, '../compose.yaml': own }, 'user-written'],
  ])('determines whether the install is generated by %s', async (_, files, expected) => {
    const { found } = await inspect({ containers: { 'app-1': { files: Object.keys(files) } }, files });
    expect(found.kind).toBe(expected);
  });
});

describe('inspectInstallation: services', () => {
  const interrupted: InterruptionPredicate = ({ name }) => name === 'svc-worker-2';
  const down = { status: 'exited' };

  it.each<[string, Record<string, Told>, InterruptionPredicate, [number, number[]], [number, number[]]]>([
    [
      'some are stopped',
      { 'app-1': down, 'worker-1': down, 'worker-2': down, 'worker-3': {} },
      () => false,
      [0, [1]],
      [1, [1, 2]],
    ],
    [
      'one was interrupted',
      { 'app-1': {}, 'worker-1': down, 'worker-2': down },
      interrupted,
      [1, []],
      [1, [1]],
    ],
  ])(
    'counts the containers that should be running if %s',
    async (_, containers, wasInterrupted, app, worker) => {
      const { found } = await inspect({ containers, wasInterrupted });
      expect([found.app, ...found.workers].map(({ running, stopped }) => [running, stopped])).toEqual([
        app,
        worker,
      ]);
      expect(found.app.pin.referenceText).toBe('svc:v1.0.0');
    },
  );

  it('does not update a worker without a container, even if the worker is specified', async () => {
    const argv = ['--service', 'app', '--service', 'worker'];
    const { found, lines } = await inspect({ containers: { 'app-1': {}, 'db-1': {} }, argv });
    expect(names(found.workers)).toEqual([]);
    expect(lines).toEqual(['info: worker has no container; the update will not create a container for it']);
  });

  it.each<[string, Record<string, Told>, string[]]>([
    ['process ids', { 'tail-1': { pid: 'container:worker-1' } }, ['tail']],
    [
      'network, by another one',
      { 'last-1': { network: 'container:tail-1' }, 'tail-1': { network: 'container:app-1' } },
      ['tail', 'last'],
    ],
    ['nothing', { 'tail-1': { network: 'container:db-1' }, 'last-1': { network: 'host' } }, []],
  ])('finds services that share a namespace: %s', async (_, more, expected) => {
    const containers = { 'app-1': {}, 'worker-1': {}, 'db-1': {}, ...more };
    const { found } = await inspect({ containers, argv: ['--exclude', '*'] });
    expect(names(found.followers)).toEqual(expected);
  });
});

describe('inspectInstallation refuses', () => {
  it('a project without an app', async () => {
    const containers = { 'db-1': {}, 'cron-1': {}, 'db-2': {} };
    const advice =
      'Services with containers: cron, db. Start the instance once with {up}, or specify the app service with --service.';
    const message = `project svc in ${join(root, 'svc')} has no container for service app`;
    await expect(inspect({ containers })).rejects.toThrow(
      expect.objectContaining({ code: 'no-app', message, advice }),
    );
  });

  it('a specified service that does not exist', async () => {
    const told = inspect({ argv: ['--service', 'app', '--service', 'mailer'] });
    const advice =
      'Correct the name in the services setting of .svc-updater.yaml or in the --service option. The project has these services: app, db, worker.';
    await expect(told).rejects.toThrow(
      expect.objectContaining({ code: 'no-app', message: 'project svc has no service mailer', advice }),
    );
  });

  it.each([
    ['', 'the container labels do not list a compose file'],
    [
      '/opt/svc/compose.yaml,oci://registry/svc',
      'the instance was started from oci://registry/svc, which is not a file on this host',
    ],
  ])('an instance that was started from %j', async (files, message) => {
    const told = inspect({ containers: { 'app-1': { labels: { [composeLabels.files]: files } } } });
    await expect(told).rejects.toThrow(expect.objectContaining({ code: 'compose-invalid', message }));
  });

  it('files that are not mounted', async () => {
    const message = `the instance was started with files that are not mounted: ${at('compose.yaml')}`;
    const advice = `Add -v ${join(root, 'svc')}:${join(root, 'svc')} to the docker run command.`;
    await expect(inspect({ outside: true })).rejects.toThrow(
      expect.objectContaining({ code: 'outside-mounts', message, advice }),
    );
  });
});
