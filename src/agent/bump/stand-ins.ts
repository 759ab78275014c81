import { requiredIn } from '../../compose/interpolation.ts';
import { type Layer, pathIn, reachOf } from '../../compose/layers.ts';
import { allFiles, type ProjectFiles } from '../../compose/project-files.ts';
import { exists } from '../../files/file-system.ts';
import { UpdateError } from '../../progress/update-error.ts';
import type { StandIns } from '../proof/proposed-model.ts';

/**
 * What `compose config` asks for and a proof does not need: required variables that nobody sets here, and env files
 * that are not there. A file is bumped on a desk or in CI, where the secrets of the instance are not.
 */
export async function standIns(files: ProjectFiles): Promise<StandIns> {
  const { layers } = reachOf(files);
  const required = new Set(allFiles(files).flatMap(({ text }) => requiredIn(text, () => null)));
  const variables = [...required].filter((name) => !layers.some((layer) => isSet(layer, name)));
  const there = layers.flatMap(envFilesOf).map((path) => path !== null && exists(path));
  const hasAll = (await Promise.all(there)).every(Boolean);
  return {
    // The stand-in value is a number, which compose accepts wherever it accepts a text; where it does not, compose says so.
    envFiles: variables.length === 0 ? [] : [variables.map((name) => `${name}=1\n`).join('')],
    composeFiles: hasAll ? [] : [withoutEnvFiles(layers)],
  };
}

const isSet = ({ variables }: Layer, name: string): boolean => (variables(name)?.text ?? '') !== '';

/** The paths of all env files of services; null for one that has no path without a required variable. */
function envFilesOf(layer: Layer): (string | null)[] {
  const links = layer.file.services.flatMap((name) => layer.file.service(name)?.envFiles ?? []);
  return links.map((link) => {
    try {
      return pathIn(layer, link);
    } catch (error) {
      if (error instanceof UpdateError) return null;
      throw error;
    }
  });
}

/** JSON but for the tag is YAML. */
function withoutEnvFiles(layers: readonly Layer[]): string {
  const names = new Set(layers.filter(({ follows }) => follows).flatMap(({ file }) => file.services));
  return [
    'services:',
    ...[...names].map((name) => `  ${JSON.stringify(name)}: {env_file: !reset []}`),
    '',
  ].join('\n');
}
