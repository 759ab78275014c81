import { readFile, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { allFiles, directoryOf, type ProjectFiles } from '../../compose/project-files.ts';
import { keyedSecrets, secretsOfContent, secretsOfRawEnvFile } from '../../compose/secret-lines.ts';
import { namesOf, secretFilesOf, secretsOfEnvFiles, secretsOfProject } from '../../compose/secret-texts.ts';
import type { TextFile } from '../../files/text-file.ts';
import type { Log } from '../log/log.ts';
import { imageNames } from '../log/mask-rules.ts';

const maxBytes = 5 * 1024 * 1024;

/**
 * Hides what a project's files hold, and those that they lead to: env files of services, files of secrets and configs. `find` says
 * where a host path is here, null where it is not mounted. Never throws: compose says what is wrong with a file.
 */
export async function learnFiles(
  log: Pick<Log, 'addMaskRules'>,
  files: ProjectFiles,
  find: (path: string) => string | null = (path) => path,
): Promise<void> {
  const { envFiles, secretFiles, configFiles } = secretFilesOf(files);
  const paths = [...allFiles(files).map(({ path }) => path), ...envFiles, ...secretFiles, ...configFiles];
  log.addMaskRules(() => {
    const { services, images } = namesOf(files);
    const places = [directoryOf(files), ...paths.flatMap((path) => [path, basename(path)])];
    return {
      secrets: secretsOfProject(files),
      shown: [...places, ...services, ...images.flatMap(imageNames)],
    };
  });
  const [env = [], secret = [], config = []] = await Promise.all(
    [envFiles, secretFiles, configFiles].map((each) => readAll(each, find)),
  );
  log.addMaskRules(() => ({
    secrets: [
      // Compose resolves their variables by the project's own, and one after the other.
      ...secretsOfEnvFiles([...files.envFiles, ...env]),
      ...env.flatMap((file) => [...secretsOfEnvFiles([file]), ...secretsOfRawEnvFile(file.text)]),
      ...secret.flatMap(({ text }) => secretsOfContent(text)),
      // Most of a config is no secret, and without it nobody could read what a container says of it.
      ...config.flatMap(({ text }) => keyedSecrets(text)),
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

/** What is no UTF-8 is read as far as it is. Reading a pipe would wait for ever. */
async function readTolerantly(path: string): Promise<string | null> {
  const found = await stat(path);
  return found.isFile() && found.size <= maxBytes ? await readFile(path, 'utf8') : null;
}
