import { execa } from 'execa';
import { findContainers } from '../rig/engine-api.ts';
import { expectUpKeepsVersion, nextRun } from './expect.ts';
import type { Fault, Trial } from './fault.ts';
import { cache, installNames, releaseOf } from './install.ts';
import type { Subject } from './subject.ts';

// What a killed `docker compose up` leaves: the container that was to take the old one's place, made but never started,
// under a name of compose's own that blocks the next `up`.

interface Leftover {
  name: string;
  /** In the order in which compose comes to them. */
  services: readonly ('app' | 'worker')[];
  /** Compose had removed the old one already. */
  oldIsGone: boolean;
  /** Made from the next release, as where the killed `up` was an update by hand. */
  next: boolean;
}

const leftovers: readonly Leftover[] = [
  { name: 'beside the old app', services: ['app'], oldIsGone: false, next: false },
  {
    name: 'of the next release, beside app and worker',
    services: ['app', 'worker'],
    oldIsGone: false,
    next: true,
  },
  { name: 'of app, which is gone', services: ['app'], oldIsGone: true, next: false },
  {
    name: 'of the next release in place of app and worker',
    services: ['app', 'worker'],
    oldIsGone: true,
    next: true,
  },
];

export const leftoverFaults: readonly Fault[] = leftovers.map((leftover) => ({
  group: 'engine',
  name: `a killed compose up has left one ${leftover.name}`,
  installs: installNames,
  tries: 4,
  shortTries: 0,
  run: (trial) => tryLeftover(trial, leftover),
}));

async function tryLeftover(trial: Trial, { services, oldIsGone, next }: Leftover): Promise<void> {
  // Not with others' tries: what a person did by hand is no business of theirs.
  const subject = await trial.subject({ release: releaseOf(trial.install, 0).options });
  const before = await subject.look();
  const to = await subject.publish();
  const reference = `${subject.instance.image}:${(next ? to : subject.release).tag}`;
  // Where the tag floats, a person's own pull has moved it.
  if (next) await execa('docker', ['pull', '--quiet', reference], { timeout: 60_000 });
  for (const service of services) {
    const name = await leave(subject, service, reference, oldIsGone);
    trial.note(`left ${name} of ${reference}`);
  }
  const pulled = next ? await subject.look() : before;
  await nextRun({ subject, before: { ...before, tags: pulled.tags }, to });
  await expectUpKeepsVersion(subject);
}

async function leave(
  { instance }: Subject,
  service: string,
  reference: string,
  oldIsGone: boolean,
): Promise<string> {
  const found = await findContainers(instance.project);
  const old = found.find(({ Config }) => Config.Labels['com.docker.compose.service'] === service);
  if (old === undefined) throw new Error(`there is no ${service}`);
  const own = old.Name.slice(1);
  const name = `${old.Id.slice(0, 12)}_${own}`;
  const volume = old.Mounts.find(({ Destination }) => Destination === cache)?.Name;
  const labels = { ...old.Config.Labels, 'com.docker.compose.replace': own };
  const create = [
    ...['create', '--name', name, '--network', `${instance.project}_internal`, '--restart', 'always'],
    ...Object.entries(labels).flatMap(([key, value]) => ['--label', `${key}=${value}`]),
    ...(volume === undefined ? [] : ['--volume', `${volume}:${cache}`]),
    ...['--volume', `${instance.directory}/data:/data`, reference, service],
  ];
  await execa('docker', create, { timeout: 30_000 });
  // Without its volumes: the new one has them.
  if (oldIsGone) await execa('docker', ['rm', '--force', own], { timeout: 60_000 });
  return name;
}
