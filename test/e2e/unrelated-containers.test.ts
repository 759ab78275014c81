import { basename, join } from 'node:path';
import { execa } from 'execa';
import { expect, inject, onTestFinished, test } from 'vitest';
import { composeLabels } from '../../src/engine/objects/labels.ts';
import type { Status } from '../../src/wire/status.ts';
import { differs } from '../judge/differs.ts';
import { judgeWords, type Says } from '../judge/log.ts';
import { look } from '../judge/look.ts';
import { shareInstance } from './support/attempt.ts';
import { alone, type Instance } from './support/instance.ts';
import {
  createServerInstance,
  follow,
  inspect,
  removeContainer,
  updaterOf,
  waitForStatus,
} from './support/server.ts';

// docs/contract.md 4.10: unrelated containers with compose's labels. A user who may start containers can set any label.
// If the updater trusted the compose file that a label names, it would start its services with unlimited rights.

const toNext = ['--target', 'v1.1.0'];

interface Stranger {
  /** All its labels are equal to those of the app's container, except for the container number. */
  isPerfect?: boolean;
}

/** Writes `data/evil.yaml`, and starts a container whose labels name this file. Returns the container's name. */
async function plant(instance: Instance, { isPerfect = false }: Stranger = {}): Promise<string> {
  const { Config } = await inspect(`${instance.project}-app-1`);
  const files: string = Config.Labels[composeLabels.files];
  const text = await instance.read(basename(files));
  const evil = text.replace(
    "volumes: ['./data:/data'",
    "privileged: true\n    volumes: ['/:/host', './data:/data'",
  );
  expect(evil).not.toBe(text);
  await instance.write('data/evil.yaml', evil);
  const given = {
    ...Config.Labels,
    [composeLabels.number]: '2',
    ...(!isPerfect && { [composeLabels.files]: join(instance.directory, 'data', 'evil.yaml') }),
  };
  const name = `${instance.name}-evil`;
  await execa('docker', [
    ...['run', '--detach', '--name', name, '--network', `${instance.project}_internal`],
    ...Object.entries(given).flatMap(([label, value]) => ['--label', `${label}=${value}`]),
    ...[`${inject('host').parts}/tunnel:1`, 'tunnel'],
  ]);
  onTestFinished(() => removeContainer(name));
  return name;
}

const shared = shareInstance({ ...alone, text: { port: null } });
const refused = /^refused \(unrelated-container\): nothing was changed/;
/** The updater neither reads the file of the unrelated container nor mentions it. */
const never = [/evil\.(?:yaml|env)/, /INFO {2}(?:plan|pull|recreate) /];

/** The run is refused, and changes neither the instance nor the unrelated container. */
async function expectRefusal(
  instance: Instance,
  args: readonly string[],
  says: Says,
  ends: Says,
): Promise<void> {
  const before = await look(instance);
  const result = await instance.update(args);
  const facts = judgeWords(result, { exitCode: 3, says, ends: [refused, ...ends], never });
  expect([...facts, ...differs('refused', before, await look(instance))], result.log).toEqual([]);
}

// The other differences are rows of test/engine/comparison/find-unrelated-containers.test.ts.
test.for<[string, Stranger, string]>([
  ['another file', {}, 'were started from different compose files'],
  ['a perfect replica of another image', { isPerfect: true }, 'run images of different repositories'],
])(
  'plan and update are refused if an unrelated container has the labels of the app: %s',
  async ([, stranger, difference]) => {
    const instance = shared();
    const name = await plant(instance, stranger);
    const says = [name, `the labels of service app of project ${instance.project}`, difference];
    const ends = [`run docker rm -f ${name}.`];
    await expectRefusal(instance, toNext, says, ends);
    await expectRefusal(instance, ['plan', ...toNext], says, ends);
  },
);

test('a run with --container trusts only the labels of that container', async () => {
  const instance = shared();
  const { Id } = await inspect(`${instance.project}-app-1`);
  const name = await plant(instance);
  const own = ['--container', Id];
  const says = [
    new RegExp(`container ${name} \\(\\w{12}\\) with the labels .*was started from other compose files`),
  ];
  const ends = [`To remove it, run docker rm -f ${name}.`];
  await expectRefusal(instance, [...toNext, ...own], says, ends);
  const { exitCode, log } = await instance.update([...toNext, '--container', '0'.repeat(64)]);
  expect(exitCode, log).toBe(3);
  expect(log).toMatch(
    /no compose project contains container 0{12}.*\n.*refused \(no-app\): .* run the update again/,
  );
});

test('a server reports an unrelated container before an update is requested, and passes its own container ID to the updater', async () => {
  const instance = await createServerInstance(alone);
  await instance.offer('v1.1.0');
  await instance.status({ refresh: true });
  await waitForStatus(instance, ({ canUpdate }) => canUpdate);
  const { Id } = await inspect(`${instance.project}-app-1`);
  const name = await plant(instance);
  const isFound = ({ reason }: Status) => reason?.code === 'unrelated-container';
  const { canUpdate, reason } = await waitForStatus(instance, isFound);
  expect(canUpdate).toBe(false);
  expect(reason?.message).toContain(`To remove it, run docker rm -f ${name}.`);
  expect(reason?.message).not.toContain('evil.yaml');
  expect((await instance.startUpdateOverHttp()).status).toBe(409);
  expect(await inspect(updaterOf(instance))).toBeNull();

  await removeContainer(name);
  await waitForStatus(instance, ({ canUpdate }) => canUpdate);
  expect((await instance.startUpdateOverHttp()).status).toBe(202);
  const { runs } = await follow(instance);
  expect(runs.at(-1)?.state).toBe('updated');
  expect((await inspect(updaterOf(instance))).Config.Env).toContain(`SVC_UPDATER_CONTAINER=${Id}`);
});
