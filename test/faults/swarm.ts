import { setTimeout as sleep } from 'node:timers/promises';
import { execa } from 'execa';
import { differs } from '../judge/differs.ts';
import { judgeUpdated } from '../judge/judge.ts';
import { judgeGoodLog, judgeOutcome } from '../judge/log.ts';
import { look } from '../judge/look.ts';
import { clusterCompose, generatedCompose } from '../rig/compose-text.ts';
import { startInstance } from '../rig/instance.ts';
import type { TestHost } from '../rig/test-host.ts';
import { tryOnOwnHost } from './own-host.ts';

// An instance in cluster mode on a separate engine: a Swarm manager, with an attachable overlay network for the
// instance's proxy and app, and unrelated tasks.

const docker = async (...args: string[]): Promise<string> =>
  (await execa('docker', args, { stdin: 'ignore', timeout: 60_000 })).stdout;

/** All Swarm objects that an update must not change: tasks with their containers, services, and networks. */
async function swarmState(): Promise<Record<string, string>> {
  const format = (text: string) => ['--no-trunc', '--format', text];
  const [tasks, containers, services, networks] = await Promise.all([
    docker('service', 'ps', 'theirs', ...format('{{.ID}} {{.Name}} {{.DesiredState}}')),
    docker('ps', '--filter', 'name=^theirs', ...format('{{.ID}} {{.Names}}')),
    docker('service', 'ls', '--format', '{{.ID}} {{.Name}} {{.Replicas}}'),
    docker('network', 'ls', ...format('{{.ID}} {{.Name}} {{.Scope}}')),
  ]);
  return { tasks, containers, services, networks };
}

async function startTheirs({ parts }: TestHost): Promise<void> {
  await docker('swarm', 'init', '--advertise-addr', '127.0.0.1', '--listen-addr', '127.0.0.1');
  await docker('network', 'create', '--driver', 'overlay', '--attachable', 'users');
  await docker('pull', '--quiet', `${parts}/tunnel:1`);
  const service = ['--detach', '--name', 'theirs', '--replicas', '2', '--network', 'users'];
  await docker('service', 'create', ...service, '--no-resolve-image', `${parts}/tunnel:1`, 'tunnel');
  for (let tries = 0; tries < 300; tries++) {
    const states = await docker('service', 'ps', 'theirs', '--format', '{{.CurrentState}}');
    if ((states.match(/^Running/gm) ?? []).length === 2) return;
    await sleep(100);
  }
  throw new Error('the tasks of the others do not run');
}

/** The cluster file of a release, with proxy and app in the overlay network; the app has an address there. */
const withOverlay = (release: string): string =>
  clusterCompose(release)
    .replace('networks: [internal]', 'networks: [internal, users]')
    .replace(/( {2}proxy:\n(?: {4}.*\n)*? {4}networks: )\[internal\]/, '$1[internal, users]')
    .replace(/^networks:\n/m, 'networks:\n  users: { external: true }\n');

async function tryUpdate(host: TestHost): Promise<string[]> {
  await startTheirs(host);
  const cluster = { 'compose.cluster.yaml': withOverlay('v1.0.0') };
  const instance = await startInstance(host, {
    kind: 'cluster',
    files: () => cluster,
    release: { version: '1.0.0', files: cluster },
    publish: [],
  });
  const fresh = { 'compose.cluster.yaml': withOverlay('v1.1.0') };
  await instance.publish('v1.1.0', { files: fresh });
  const [before, theirs] = [await look(instance), await swarmState()];
  const result = await instance.update(['--target', 'v1.1.0']);
  const changed = {
    '.env': (text: string) => text.replace('v1.0.0', 'v1.1.0'),
    'compose.yaml': generatedCompose('v1.1.0'),
    ...fresh,
  };
  const facts = [
    ...judgeOutcome(result, ['updated']),
    ...judgeGoodLog(result, {}),
    ...judgeUpdated(before, await look(instance), { version: 'v1.1.0', changed }),
    ...differs("other people's Swarm", theirs, await swarmState()),
    ...(/^theirs\.\d.*\n.*theirs\.\d/m.test(theirs.containers?.replace(/^\S+ /gm, '') ?? '')
      ? []
      : ['the others have no two tasks']),
  ];
  return facts.length > 0 ? [...facts, result.log] : [];
}

await tryOnOwnHost(import.meta.filename, ({ host }) => tryUpdate(host));
