import { chown, copyFile, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { survive } from '../faults/fault.ts';
import { releaseOf } from '../faults/install.ts';
import { strange } from '../faults/rootless.ts';
import type { Subject } from '../faults/subject.ts';
import { judgeUntouched, judgeUpdated } from '../judge/judge.ts';
import { judgeOutcome, judgeWords } from '../judge/log.ts';
import { look } from '../judge/look.ts';
import { leastRights } from '../rig/updater-run.ts';

/** A user of containers: one of the subordinate users, on the host. */
const subordinate = 999;

/**
 * A file of a user whom this engine does not map, as root's is that somebody made with `sudo`: refused before the pull, and
 * still his, and so is one among what the app keeps (5.20). Given to a subordinate user it is updated with the least rights, and
 * stays that one's (docs/contract.md 5.1).
 */
export async function tryStrangers(subject: Subject): Promise<void> {
  const { instance } = subject;
  const { directory } = instance;
  const env = join(directory, '.env');
  const to = await subject.publish();
  const strangers = join(tmpdir(), strange);
  await writeFile(strangers, await readFile(env));
  await rename(strangers, env);
  const [before, { ino }] = [await look(instance), await stat(env)];

  const refused = await subject.update(to);
  survive([
    ...judgeOutcome(refused, ['refused']),
    ...judgeWords(refused, {
      exitCode: 3,
      says: [`${env} would lose its permissions: its owner is not mapped into this container`],
      ends: [/^refused \(rights-lost\): nothing was changed/],
    }),
    ...judgeUntouched(before, await look(instance)),
    ...(refused.log.includes(' pull ') ? ['images were pulled before the refusal'] : []),
    // Nobody here can give root's file away: he has it while it is the same one.
    ...((await stat(env)).ino === ino ? [] : ['another file took its place']),
  ]);

  await copyFile(env, `${env}.own`);
  // What belongs to somebody on the host cannot be given to him when it comes back from a restore point (5.20).
  const kept = join(directory, 'data', strange);
  await rename(env, kept);
  await rename(`${env}.own`, env);
  await chown(env, subordinate, subordinate);
  const settings = join(directory, '.svc-updater.yaml');
  await writeFile(settings, 'data: { db: none, proxy: none, tunnel: none }\n');
  const asItWas = await look(instance);
  const unkept = await subject.update(to, {}, '--restore-point');
  survive([
    ...judgeOutcome(unkept, ['refused']),
    ...judgeWords(unkept, {
      exitCode: 3,
      says: [`/${strange}", which belongs to a user or group`],
      ends: [/^refused \(data-unsupported\)/],
    }),
    ...judgeUntouched(asItWas, await look(instance)),
  ]);
  await Promise.all([rm(kept), rm(settings)]);
  const given = await look(instance);
  survive(judgeOutcome(await subject.update(to, { docker: leastRights }), ['updated']));
  const changed = { '.env': (text: string) => text.replace('SVC_VERSION=v1.0.0', 'SVC_VERSION=v1.1.0') };
  survive([
    ...judgeUpdated(given, await look(instance), { version: releaseOf('variable', 1).version, changed }),
    ...((await ownerOf(env)) === `${subordinate}:${subordinate}` ? [] : ['the file has another owner']),
  ]);
}

async function ownerOf(file: string): Promise<string> {
  const { uid, gid } = await stat(file);
  return `${uid}:${gid}`;
}
