/** Timeouts and intervals in milliseconds. Tests use shorter values. */
export const defaultServerTiming = {
  /** Timeout for functions of the application. */
  host: 10_000,
  /** Timeout for `onEnd`, which may send an email. */
  onEnd: 60_000,
  /** Timeout for downloading each file that is needed to verify a release. */
  proof: 10_000,
  /** Interval for checking the store and the engine. */
  watch: 10_000,
  /**
   * Interval for checking the store and the engine while another server prepares a run, or while it is unknown whether
   * a run is in progress.
   */
  watchClosely: 1_000,
  /** Interval for checking the prefetch. */
  prefetch: 30_000,
  /** Interval for checking whether an automatic update is due. */
  automatic: 15_000,
  /** Interval for calling `afterStep`. */
  path: 10_000,
  /** Interval for checking the jobs that an update is waiting for. */
  jobs: 2_000,
  /** Maximum time that a request waits for the server to determine whether a run is in progress. */
  known: 10_000,
  /**
   * If the store or the engine has not responded for this time, the queue is resumed. By then, an updater has given up,
   * because it waits only 60 s for the engine.
   */
  silence: 180_000,
  /** Pause before the second attempt. Each further pause is twice as long, up to `longestRetry`. */
  retry: 1_000,
  longestRetry: 60_000,
  /** Time limit for an updater that verifies the hashes of a restore point or creates a report. */
  check: 300_000,
  /** Interval for checking the updater container. */
  follow: 250,
  /** Maximum time until the engine restarts a failed container. */
  restart: 10_000,
  /** Maximum time that an updater keeps running after its last log line. */
  lastMoments: 15_000,
};
export type ServerTiming = typeof defaultServerTiming;
