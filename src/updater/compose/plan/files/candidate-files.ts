import { join } from 'node:path';
import { isNumbered } from '../../../../core/release/pin-tag.ts';
import { changesTag } from '../../../plan/release-plan.ts';
import { releaseFileNames } from '../../inspect/installation.ts';
import type { Plan } from '../prepared-plan.ts';

/** Returns the paths of the files that the update may write, as far as they are known before the pull. */
export function listCandidateFiles({ installation, updates }: Plan): string[] {
  const { files, kind, project } = installation;
  const candidates = new Set<string>();
  for (const update of updates) {
    const { pin } = update;
    if (pin.reference.digest === null && !changesTag(update)) continue;
    const setsVariable = pin.place.kind === 'default' && !isNumbered(pin.tag);
    candidates.add(setsVariable ? (files.envFiles.at(-1)?.path ?? files.newEnvFile) : pin.place.file);
  }
  if (kind === 'generated') {
    for (const { path } of [...files.composeFiles, ...(files.linkedFiles ?? [])]) {
      if (releaseFileNames.some((name) => path === join(project.directory, name))) candidates.add(path);
    }
    for (const { path } of files.envFiles) candidates.add(path);
  }
  return [...candidates];
}
