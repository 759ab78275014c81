/** Of this build; the bundler puts it in. */
export const version: string = process.env.SVC_UPDATER_BUILD_VERSION ?? 'dev';
