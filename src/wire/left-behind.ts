import type { BuildServer } from './status.ts';

/** Returns the beginning of a warning about a build server. */
const headOf = (name: string): string => `build server ${name} still runs `;

/** Returns the warning about an outdated build server after an update. */
export const formatBuildServerWarning = ({ name, version, command }: BuildServer): string =>
  `${headOf(name)}${version}; update it with: ${command}`;

/** Removes the warnings about build servers that are listed separately. */
export const withoutBuildServerWarnings = (
  warnings: readonly string[],
  told: readonly Pick<BuildServer, 'name'>[],
): string[] => warnings.filter((warning) => !told.some(({ name }) => warning.startsWith(headOf(name))));
