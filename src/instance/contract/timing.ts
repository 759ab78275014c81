/** How long is waited for what, in milliseconds; tests wait less. */
export const usualTiming = {
  /** For an answer of the host. */
  host: 10_000,
  /** For `onEnd`, which may send a mail. */
  onEnd: 60_000,
  /** For each file that proves a release. */
  proof: 10_000,
  /** Between two looks at the store and the engine. */
  watch: 10_000,
  /** The same while another server prepares a run, or it is not known whether a run is on. */
  watchClosely: 1_000,
  /** Between two looks at what is fetched ahead. */
  prefetch: 30_000,
  /** Between two looks at whether an update starts by itself. */
  automatic: 15_000,
  /** Between two questions whether a path may go on. */
  path: 10_000,
  /** Between two looks at the jobs that are waited for. */
  jobs: 2_000,
  /** How long a request waits until it is known whether a run was on as the server began. */
  known: 10_000,
  /** The silence of store and engine after which the queue goes on. An updater gives up after 60 s. */
  silence: 180_000,
  /** Before a second try; each further one waits twice as long, up to `longestRetry`. */
  retry: 1_000,
  longestRetry: 60_000,
  /** An updater checks a restore point against its hashes. */
  check: 300_000,
  /** Between two looks at an updater's container. */
  follow: 250,
  /** The engine starts a container again within this time where it does at all. */
  restart: 10_000,
  /** What an updater does after its last line takes a moment. */
  lastMoments: 15_000,
};
export type Timing = typeof usualTiming;
