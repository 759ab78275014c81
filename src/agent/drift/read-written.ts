import { readEnvFile } from '../../compose/variables.ts';
import { readTextFileIfThere, type TextFile } from '../../files/text-file.ts';
import type { InstanceFacts } from './dry-run.ts';
import type { Difference } from './find-differences.ts';
import { configTexts, envFilesOf, isInEnvironment, writtenTexts } from './written-text.ts';

/** What is written in the files, variables unresolved. */
export interface WrittenProject {
  /** The texts that decide an item of a service. */
  textsOf(service: string, difference: Pick<Difference, 'section' | 'item'>): Promise<string[]>;
  /** The texts of an inline config. */
  textsOfConfig(source: string): string[];
}

/** @throws UpdateError where an env file of a service cannot be read */
export async function readWritten({ compose, files }: InstanceFacts): Promise<WrittenProject> {
  const written = await compose.written();
  const composeFiles = [...files.composeFiles, ...(files.linkedFiles ?? [])];
  return {
    textsOfConfig: (source) =>
      written === null ? composeFiles.map(({ text }) => text) : configTexts(written, source),
    async textsOf(service, difference) {
      // Compose cannot print some keys without their values (`ulimits` of a variable): then every line that names it
      // counts, or else the whole.
      if (written === null) return linesAbout(composeFiles, difference);
      const { section, item } = difference;
      if (section !== 'environment' || isInEnvironment(written, service, item))
        return writtenTexts(written, service, difference);
      const envFiles = await Promise.all(envFilesOf(written, service).map(readTextFileIfThere));
      return envFiles.flatMap((file) => (file === null ? [] : assigned(file, item)));
    },
  };
}

function linesAbout(
  files: readonly TextFile[],
  { section, item }: Pick<Difference, 'section' | 'item'>,
): string[] {
  const lines = files.flatMap(({ text }) => text.split('\n'));
  const about = lines.filter((line) => line.includes(item || section));
  return about.length > 0 ? about : lines;
}

/** What an env file gives a variable; the name alone passes on what the shell has. */
function assigned(file: TextFile, key: string): string[] {
  const { assignments, byKey } = readEnvFile(file);
  const last = assignments[byKey.get(key)?.at(-1) ?? -1];
  if (last) return last.quote === "'" ? ["''"] : [`${file.text.slice(last.start, last.end)} `];
  return file.text.split(/\r?\n/).some((line) => line.trim() === key) ? [`\${${key}}`] : [];
}
