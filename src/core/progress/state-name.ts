/** Name of the directory in the compose directory that contains all files of the updater, also used in advice. */
export const stateDirectoryName = '.svc-updater';

/** Name of the file in the compose directory with the settings of the instance. */
export const settingsFileName = `${stateDirectoryName}.yaml`;
