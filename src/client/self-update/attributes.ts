import { failed } from './failure.ts';
import type { Place } from './place.ts';
import { runToEnd } from './run-to-end.ts';

const deadline = 10_000;

/**
 * Gives the new file what else than owner and mode the old one has: an access control list, capabilities, extended
 * attributes. Node cannot, and cp of GNU can, so that where there is no such cp they are lost (docs/contract.md 9.3).
 * @throws Failure, failed, where there are some that this user may not give
 */
export async function copyAttributes({ file, temporary }: Place): Promise<void> {
  const copy = ['cp', '--attributes-only', '--preserve=mode,xattr', '--', file, temporary];
  const { trouble } = await runToEnd(copy, { deadline });
  if (trouble === null) return;
  const { output } = await runToEnd(['cp', '--version'], { deadline });
  if (!output.includes('coreutils')) return;
  throw failed(
    `Nothing was changed: ${file} has an access control list, capabilities or other attributes, which the new file could not be given.`,
    `run it as root: sudo. What it has: getcap ${file}; getfacl ${file}; getfattr -d -m - ${file}`,
  );
}
