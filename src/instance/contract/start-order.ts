/** What is asked of a start. */
export interface StartOrder {
  /** `vX.Y.Z` or `canary`; null: what is offered. */
  target: string | null;
  /** `idle`: running jobs are waited for, with the queue held. */
  when: 'now' | 'idle';
  /** Jobs are not looked at: those that run are cut short. */
  force: boolean;
  /** Who asks. */
  by: string;
}
