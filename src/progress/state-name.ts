/** The directory, in the compose directory, with everything that the updater keeps. Advice names it, too. */
export const stateName = '.svc-updater';
