/** The directory, in the compose directory, with everything that the updater keeps. Advice names it, too. */
export const stateName = '.svc-updater';

/** The file beside the compose file with what is the instance's own among the options. */
export const settingsName = `${stateName}.yaml`;
