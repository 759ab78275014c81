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

/** A user inside containers, which is a subordinate user on the host. */
const subordinate = 999;

/**
 * Tests a file whose owner is not mapped into the engine's user namespace, such as a file created with `sudo`.
 * The updater refuses it before the pull, without changing it; also if it is data for a restore point (5.20). After
 * chown to a subordinate user, the update succeeds with the least rights, and keeps the owner (docs/contract.md 5.1).
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
    // Only root can change the owner, so the owner is the same as long as the file is the same.
    ...((await stat(env)).ino === ino ? [] : ['another file took its place']),
  ]);

  await copyFile(env, `${env}.own`);
  // A restore cannot restore an owner who is not mapped (5.20).
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
