import type { BuildServer } from './status.ts';

/** How a warning of a run's end begins that is about a build server of that name. */
const headOf = (name: string): string => `build server ${name} still runs `;

/** A build server that an update has not reached, as a warning of its end. */
export const leftBehind = ({ name, version, command }: BuildServer): string =>
  `${headOf(name)}${version}; update it with: ${command}`;

/** The warnings without those about build servers that are told of by themselves, as they are by now. */
export const withoutLeftBehind = (
  warnings: readonly string[],
  told: readonly Pick<BuildServer, 'name'>[],
): string[] => warnings.filter((warning) => !told.some(({ name }) => warning.startsWith(headOf(name))));
