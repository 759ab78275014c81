import { randomBytes } from 'node:crypto';
import { execa } from 'execa';
import { generatedCompose } from '../rig/compose-text.ts';
import { type Instance, startInstance } from '../rig/instance.ts';
import type { InstanceOptions } from '../rig/instance-options.ts';
import { openTestHost, type TestHost } from '../rig/test-host.ts';
import { dockerRun, updaterImage } from '../rig/updater-run.ts';

/** Runs the work on a separate test host, and removes the host afterwards. */
export async function onTestHost(work: (host: TestHost) => Promise<void>): Promise<void> {
  const { host, close } = await openTestHost();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => void close().then(() => process.exit(130)));
  }
  try {
    await work(host);
  } finally {
    await close();
  }
}

/** An instance with enough good releases for one update after another. */
export async function startBenchInstance(
  host: TestHost,
  releases: number,
  options: InstanceOptions = {},
): Promise<{ instance: Instance; next: () => string }> {
  const tags = Array.from({ length: releases }, (_, number) => `v1.20.${number}`);
  const instance = await startInstance(host, { ...options, tag: 'v1.0.0', publish: [] });
  for (const tag of tags) {
    // A release contains the files that the instance was created with.
    const files = { 'compose.yaml': generatedCompose(tag, options.text) };
    await instance.publish(tag, { files });
  }
  return {
    instance,
    next: () => {
      const tag = tags.shift();
      if (tag === undefined) throw new Error('the benchmark has run out of releases');
      return tag;
    },
  };
}

/** Runs the updater and checks the outcome. */
export async function runUpdater(
  instance: Instance,
  args: readonly string[],
  outcome: string,
  image = updaterImage,
): Promise<void> {
  const { log, exitCode } = await instance.update(args, { image });
  if (exitCode !== 0 || !log.includes(` done ${outcome}`)) {
    throw new Error(`the updater was to end ${outcome}:\n${log}`);
  }
}

/**
 * Runs the commands of an operator in a container of the same image, with compose directory and socket mounted as for
 * the updater.
 */
export async function runByHand({ name, directory }: Instance, script: string): Promise<void> {
  const container = `${name}-by-hand-${randomBytes(2).toString('hex')}`;
  const docker = ['-w', directory, '--entrypoint', '/bin/sh'];
  await execa('docker', dockerRun(container, directory, ['-e', '-c', script], { docker }), {
    stdin: 'ignore',
  });
}

/** `docker compose` with the files of this kind of instance. */
export const composeCommand = (kind: InstanceOptions['kind']): string =>
  kind === 'variable' ? 'docker compose -f compose.prod.yaml' : 'docker compose';

/** Sets variables in `.env`, replacing their current values. */
export async function setVariables(instance: Instance, values: Record<string, string>): Promise<void> {
  const kept = (await instance.read('.env'))
    .split('\n')
    .filter((line) => !Object.keys(values).some((name) => line.startsWith(`${name}=`)));
  const lines = Object.entries(values).map(([name, value]) => `${name}=${value}\n`);
  await instance.write('.env', kept.join('\n') + lines.join(''));
}
