/** How long is waited for what, in milliseconds; tests wait less. */
export interface Timing {
  /** For an answer of the host. */
  host: number;
  /** For `onEnd`, which may send a mail. */
  onEnd: number;
  /** Between two looks at the store and the engine. */
  watch: number;
  /** The same while another server prepares a run, or it is not known whether one is on. */
  watchClosely: number;
  /** Between two looks at the jobs that are waited for. */
  jobs: number;
  /** How long a request waits until it is known whether a run was on as the server began. */
  known: number;
  /** The silence of store and engine after which the queue goes on. An updater gives up after 60 s. */
  silence: number;
  /** Before a second try; each further one waits twice as long, up to `longestRetry`. */
  retry: number;
  longestRetry: number;
  /** Between two looks at an updater's container. */
  follow: number;
  /** The engine starts a container again within this time where it does at all. */
  restart: number;
  /** What an updater does after its last line takes a moment. */
  lastMoments: number;
}

export const usualTiming: Timing = {
  host: 10_000,
  onEnd: 60_000,
  watch: 10_000,
  watchClosely: 1_000,
  jobs: 2_000,
  known: 10_000,
  silence: 180_000,
  retry: 1_000,
  longestRetry: 60_000,
  follow: 250,
  restart: 10_000,
  lastMoments: 15_000,
};
