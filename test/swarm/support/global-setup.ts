import { execa } from 'execa';
import { swarm } from '../../rig/swarm.ts';
import { updaterImage } from '../../rig/updater-run.ts';

/** Runs once: starts the Swarm and loads the updater image if it exists. Running nodes are not restarted. */
export default async function setup(): Promise<void> {
  await must('up');
  const image = await execa('docker', ['image', 'inspect', updaterImage], { reject: false, timeout: 20_000 });
  if (image.exitCode === 0) await must('image', updaterImage);
}

async function must(...args: string[]): Promise<void> {
  const { exitCode, stdout, stderr } = await swarm(...args);
  if (exitCode !== 0) throw new Error(`scripts/swarm ${args.join(' ')} failed:\n${stdout}\n${stderr}`);
}
