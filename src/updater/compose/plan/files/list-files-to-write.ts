import { join } from 'node:path';
import { isNumberedTag } from '../../../../core/release/pin-tag.ts';
import { hasTagChange } from '../../../plan/release-plan.ts';
import { releaseComposeFileNames } from '../../inspect/installation.ts';
import type { ProjectUpdatePlan } from '../prepared-plan.ts';

/** Returns the files that the update may write, as far as they are known before the pull. */
export function listFilesToWrite({ installation, updates }: ProjectUpdatePlan): string[] {
  const { files, kind, project } = installation;
  const candidates = new Set<string>();
  for (const update of updates) {
    const { pin } = update;
    if (pin.reference.digest === null && !hasTagChange(update)) continue;
    const setsVariable = pin.location.kind === 'default' && !isNumberedTag(pin.tag);
    candidates.add(setsVariable ? (files.envFiles.at(-1)?.path ?? files.newEnvFile) : pin.location.file);
  }
  if (kind === 'generated') {
    for (const { path } of [...files.composeFiles, ...(files.linkedFiles ?? [])]) {
      if (releaseComposeFileNames.some((name) => path === join(project.directory, name)))
        candidates.add(path);
    }
    for (const { path } of files.envFiles) candidates.add(path);
  }
  return [...candidates];
}
