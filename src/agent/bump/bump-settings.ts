import { dirname, resolve } from 'node:path';
import { UpdateError } from '../../progress/update-error.ts';
import type { Log } from '../log/log.ts';
import { type BumpOptions, type FileValues, needsService } from '../process/options.ts';
import { withSettings } from '../process/settings-file.ts';

/**
 * The options of `bump` with the services and files that the settings file in the compose directory names, where no option
 * does.
 * @throws UpdateError settings-invalid; usage where it names none either
 */
export async function withBumpSettings(
  options: BumpOptions,
  read: (file: FileValues) => BumpOptions,
  log: Log,
): Promise<BumpOptions> {
  if (options.services.length > 0 && options.files.length > 0) return options;
  const [first] = options.files;
  const directory = resolve(options.dir ?? (first === undefined ? '.' : dirname(first)));
  const found = await withSettings(directory, options, read, log);
  if (found.services.length > 0) return found;
  throw new UpdateError('usage', needsService);
}
