/** What is known of a run before its log says anything. */
export interface RunOrigin {
  id: string;
  from: string | null;
  to: string | null;
  /** ISO 8601. */
  startedAt: string;
  /** Who started it; null where it was started by hand. */
  by?: string | null;
}
