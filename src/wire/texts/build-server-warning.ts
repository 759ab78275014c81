import type { BuildServer } from '../status.ts';

/** Beginning of the warning about a build server. Such a warning is recognized by its beginning. */
const warningStartOf = (name: string): string => `build server ${name} still runs `;

export const formatBuildServerWarning = ({ name, version, command }: BuildServer): string =>
  `${warningStartOf(name)}${version}; update it with: ${command}`;

/** Removes the warnings about the given build servers, because these servers are listed separately. */
export const removeBuildServerWarnings = (
  warnings: readonly string[],
  told: readonly Pick<BuildServer, 'name'>[],
): string[] =>
  warnings.filter((warning) => !told.some(({ name }) => warning.startsWith(warningStartOf(name))));
