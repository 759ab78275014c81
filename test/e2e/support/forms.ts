import { homedir } from 'node:os';
import { execa } from 'execa';
import { expect } from 'vitest';
import { fresh, inProject, type Layout, old, readTexts, textsOf } from '../../recorded/forms.ts';

/** Checks that a bump changes only the version, according to the output of compose before and after the bump. */
export function expectMoved(
  layout: Layout,
  bump: (directory: string, root: string) => Promise<void>,
): Promise<void> {
  return inProject(layout, async (directory, root) => {
    const { services = ['app'], also = [] } = layout;
    const before = await imagesOf(directory, layout);
    await bump(directory, root);
    expect(await readTexts(directory, layout)).toEqual(textsOf(layout, root, fresh));
    const after = await imagesOf(directory, layout);
    const moved = Object.entries(before).map(([name, text]) => {
      const moves = services.includes(name) || also.includes(name);
      const now = text?.replace(/(?<=:v?)1\.4\.2/, fresh.version).replace(old.digest, fresh.digest);
      return [name, moves ? now : text];
    });
    expect(after).toEqual(Object.fromEntries(moved));
    for (const name of [...services, ...also]) expect(after[name]).not.toBe(before[name]);
  });
}

/** The images according to docker compose, called like a user would call it. */
async function imagesOf(
  directory: string,
  { args = [] }: Layout,
): Promise<Record<string, string | undefined>> {
  const ofBump = args.indexOf('--digest');
  const known = ofBump < 0 ? args : args.toSpliced(ofBump, 2);
  const flags = known.map((arg) => (arg === '--dir' ? '--project-directory' : arg));
  const { stdout } = await execa(
    'docker',
    ['compose', ...flags, '--profile', '*', 'config', '--no-consistency', '--format', 'json'],
    { cwd: directory, env: { PATH: process.env.PATH, HOME: homedir() }, extendEnv: false },
  );
  const { services } = JSON.parse(stdout) as { services: Record<string, { image?: string }> };
  return Object.fromEntries(Object.entries(services).map(([name, service]) => [name, service.image]));
}
