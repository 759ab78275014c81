/** The texts that the client and the page share. The page may replace them with a translation. */
export const sharedTexts = {
  dataSaved: (product: string, to: string, from: string) =>
    `Data is saved first. If ${to} fails, ${product} rolls back to ${from} and restores the data.`,
  allUnavailable: (product: string) =>
    `${product} and its data services will be unavailable while the last changes are copied.`,
  allUnavailableAsLast: (product: string, time: string) =>
    `${product} and its data services will be unavailable for about ${time} (same as last time).`,
  allUnavailableAbout: (product: string, time: string) =>
    `${product} and its data services will be unavailable for about ${time}.`,
  estimatedDuration: (time: string) => `The update takes about ${time}.`,
  downloading: (percent: number | null) =>
    percent === null
      ? 'Downloading in the background. You can update at any time.'
      : `Downloading in the background, ${percent} %. You can update at any time.`,
  alreadyDownloaded: 'Already downloaded.',
  nextAttempt: (time: string) => `Next attempt in ${time}.`,
  checkedAgo: (time: string) => `Checked ${time} ago.`,
  lastCheckFailed: 'The last check failed',
  recalled: (version: string) => `${version} was recalled`,
  noWayBack:
    'No newer release is available, and there is no restore point. Install the next release as soon as it is published.',
  securityUpdate: 'Security update',
  affected: (below: string) => `All versions before ${below} are affected.`,
  staleSince: (time: string) => `Release information has been out of date since ${time}`,
  backUpFirst: 'Back up your database first.',
  willBeReplaced: (time: string) => `All changes since ${time} will be discarded.`,
  currentSaved: 'The current data is saved first.',
  newJobsQueued: 'New jobs stay queued.',
  waitingUntil: (time: string) => `Waiting until ${time} at the latest. New jobs stay queued.`,
  cancelRequested: (by: string) => `Cancellation requested by ${by}. It may be too late to cancel.`,
  notInstalledAutomatically: (why: string) => `Not installed automatically: ${why}`,
  automaticOff: 'Automatic updates are off.',
  updatedTo: (version: string) => `Updated to ${version}`,
  rolledBackToVersion: (version: string) => `Rolled back to ${version}`,
  queued: 'queued',
  stuck: 'stuck',
  upgradePath: 'Upgrade path',
};
