/** The directory in the compose directory that contains all files of the updater. Advice mentions it, too. */
export const stateName = '.svc-updater';

/** The file in the compose directory with the settings of the instance. */
export const settingsName = `${stateName}.yaml`;
