/** Directory in the compose directory that contains all files of the updater. */
export const stateDirectoryName = '.svc-updater';

/** File in the compose directory that contains the settings of the instance. */
export const settingsFileName = `${stateDirectoryName}.yaml`;
