const built = process.env.SVC_UPDATER_BUILD_VERSION;

/** Of this build, `v1.0.0`; the bundler puts it in. */
export const version: string = built === undefined ? 'dev' : `v${built}`;
