import type { News } from '../../wire/reader-follow.ts';
import type { View } from './view.ts';

/** Shows a run that is followed. */
export interface Printer {
  /** Once, before anything else. */
  begin(view: View, now: number): void;
  /** Whenever there is news, and once a second. */
  show(view: View, now: number): void;
  /** Each piece of news as it came from the server. */
  news(news: News): void;
  /** Leaves what is shown as it is, to write below it. */
  end(view: View, now: number): void;
}
