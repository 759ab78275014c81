/** What is known of a run before its log says anything. */
export interface RunOrigin {
  id: string;
  from: string | null;
  to: string | null;
  /** ISO 8601. */
  startedAt: string;
}
