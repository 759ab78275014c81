import { execa } from 'execa';
import type { TestProject } from 'vitest/node';
import { askEngine } from '../../rig/engine-api.ts';
import { openTestHost, type TestHost } from '../../rig/test-host.ts';
import { updaterImage } from '../../rig/updater-run.ts';

declare module 'vitest' {
  interface ProvidedContext {
    host: TestHost;
  }
}

/** Runs once for all e2e tests: checks requirements, starts a registry, and returns the clean-up. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  await checkEngine();
  const { host, close } = await openTestHost();
  project.provide('host', host);
  return close;
}

async function checkEngine(): Promise<void> {
  const engine = await askEngine('GET', '/_ping').catch(() => undefined);
  const compose = await execa('docker', ['compose', 'version'], { reject: false, timeout: 60_000 });
  if (engine?.status !== 200 || compose.exitCode !== 0) {
    throw new Error('no container engine with compose v2 answers: run scripts/engine up');
  }
  const image = await askEngine('GET', `/images/${encodeURIComponent(updaterImage)}/json`);
  if (image.status !== 200) throw new Error(`there is no image ${updaterImage}: run scripts/image`);
}
