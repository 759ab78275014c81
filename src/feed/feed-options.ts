export interface FeedOptions {
  /** GitHub's, Gitea's, Forgejo's or GitLab's list of releases, or a static JSON file. */
  url: string;
  /** Sent along, for a feed that wants a token. */
  headers?: Record<string, string>;
}

/** A sentence for the operator, and what it speaks of. */
export interface LogEntry {
  level: 'info' | 'warn' | 'error';
  message: string;
  /** What was thrown, where something was. */
  cause?: unknown;
}
