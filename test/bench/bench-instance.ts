import { execa } from 'execa';
import { generatedCompose } from '../rig/compose-text.ts';
import { engineSocket } from '../rig/engine-api.ts';
import { type Instance, startInstance } from '../rig/instance.ts';
import type { InstanceOptions } from '../rig/instance-options.ts';
import { openTestHost, type TestHost } from '../rig/test-host.ts';
import { updaterImage } from '../rig/updater-run.ts';

/** Runs the work on a test host of its own, and leaves nothing behind, however it ends. */
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

/** An instance with as many good releases as it takes, which it is moved through one by one. */
export async function startBenchInstance(
  host: TestHost,
  releases: number,
  options: InstanceOptions = {},
): Promise<{ instance: Instance; next: () => string }> {
  const tags = Array.from({ length: releases }, (_, number) => `v1.20.${number}`);
  const instance = await startInstance(host, { ...options, tag: 'v1.0.0', publish: [] });
  for (const tag of tags) {
    // A release ships what the instance was made with.
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

/** The updater, run to the outcome that is expected. */
export async function runUpdater(
  instance: Instance,
  args: readonly string[],
  outcome: string,
): Promise<void> {
  const { log, exitCode } = await instance.update(args);
  if (exitCode !== 0 || !log.includes(` done ${outcome} `)) {
    throw new Error(`the updater was to end ${outcome}:\n${log}`);
  }
}

/** What a person types, in a container of the same image, with the compose directory and the socket as the updater has them. */
export async function runByHand(instance: Instance, script: string): Promise<void> {
  const { directory, name } = instance;
  await execa('docker', [
    ...['run', '--rm', '--name', `${name}-by-hand`, '-v', `${engineSocket}:/var/run/docker.sock`],
    ...['-v', `${directory}:${directory}`, '-w', directory, '--entrypoint', '/bin/sh', updaterImage],
    ...['-e', '-c', script],
  ]);
}

/** `docker compose` with the files of this kind of instance. */
export const composeCommand = (kind: InstanceOptions['kind']): string =>
  kind === 'variable' ? 'docker compose -f compose.prod.yaml' : 'docker compose';
