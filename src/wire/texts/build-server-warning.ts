import type { BuildServer } from '../status.ts';

/** Returns the beginning of the warning about a build server, by which the warning is recognized. */
const headOf = (name: string): string => `build server ${name} still runs `;

/** Returns the warning about an outdated build server after an update. */
export const formatBuildServerWarning = ({ name, version, command }: BuildServer): string =>
  `${headOf(name)}${version}; update it with: ${command}`;

/** Removes the warnings about these build servers, because the servers are listed separately. */
export const removeBuildServerWarnings = (
  warnings: readonly string[],
  told: readonly Pick<BuildServer, 'name'>[],
): string[] => warnings.filter((warning) => !told.some(({ name }) => warning.startsWith(headOf(name))));
