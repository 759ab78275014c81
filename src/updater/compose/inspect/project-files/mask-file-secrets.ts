import { readFile, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import {
  listProjectFiles,
  type ProjectFiles,
  projectDirectoryOf,
} from '../../../../core/compose/project-files.ts';
import {
  findEnvFileSecrets,
  findProjectSecrets,
  listPossibleSecretFiles,
  listUnmaskedTexts,
} from '../../../../core/compose/secrets/project-secrets.ts';
import {
  findKeyedSecrets,
  findRawEnvFileSecrets,
  splitIntoSecretTexts,
} from '../../../../core/compose/secrets/secret-lines.ts';
import type { TextFile } from '../../../../core/files/text-file.ts';
import { imageReferencePartsOf } from '../../../run/log/mask-rules.ts';
import type { Log } from '../../../run/log/run-log.ts';

const maxBytes = 5 * 1024 * 1024;

/**
 * Masks the secrets in a project's files, and in the env, secret and config files that they use. Never fails because of
 * a file: compose reports invalid files.
 * @param find - maps a host path to the path in this container, or to null if the path is not mounted
 */
export async function maskFileSecrets(
  log: Pick<Log, 'addMaskRules'>,
  files: ProjectFiles,
  find: (path: string) => string | null = (path) => path,
): Promise<void> {
  const { envFiles, secretFiles, configFiles } = listPossibleSecretFiles(files);
  const paths = [
    ...listProjectFiles(files).map(({ path }) => path),
    ...envFiles,
    ...secretFiles,
    ...configFiles,
  ];
  log.addMaskRules(() => {
    const { services, images } = listUnmaskedTexts(files);
    const places = [projectDirectoryOf(files), ...paths.flatMap((path) => [path, basename(path)])];
    return {
      secrets: findProjectSecrets(files),
      shown: [...places, ...services, ...images.flatMap(imageReferencePartsOf)],
    };
  });
  const [env = [], secret = [], config = []] = await Promise.all(
    [envFiles, secretFiles, configFiles].map((each) => readAll(each, find)),
  );
  log.addMaskRules(() => ({
    secrets: [
      // Parse env files together, because their variables may refer to those of earlier files.
      ...findEnvFileSecrets([...files.envFiles, ...env]),
      ...env.flatMap((file) => [...findEnvFileSecrets([file]), ...findRawEnvFileSecrets(file.text)]),
      ...secret.flatMap(({ text }) => splitIntoSecretTexts(text)),
      // In config files, mask only values whose names suggest a secret. The rest is needed to understand container
      // logs.
      ...config.flatMap(({ text }) => findKeyedSecrets(text)),
    ],
  }));
}

async function readAll(paths: readonly string[], find: (path: string) => string | null): Promise<TextFile[]> {
  const files = await Promise.all(
    paths.map(async (path): Promise<TextFile[]> => {
      const here = find(path);
      const text = here === null ? null : await readTolerantly(here).catch(() => null);
      return text === null ? [] : [{ path, text }];
    }),
  );
  return files.flat();
}

/**
 * Reads a file that may contain invalid UTF-8. Returns null for a file larger than `maxBytes`, and for a pipe, because
 * reading a pipe would block.
 */
async function readTolerantly(path: string): Promise<string | null> {
  const found = await stat(path);
  return found.isFile() && found.size <= maxBytes ? await readFile(path, 'utf8') : null;
}
