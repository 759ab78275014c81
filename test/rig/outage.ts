import { request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

export interface Outage {
  /** Milliseconds in which the address did not answer, all gaps together. */
  awayMs: number;
  gaps: number;
  /** Whether it answered in the end. */
  back: boolean;
}

const everyMs = 5;
/** On loopback a living server answers within a few milliseconds. */
const patienceMs = 500;

/**
 * Asks an address over and over until `stop` is called. A gap lasts from the end of the last good answer to the end of
 * the next one, so that it is never told shorter than it was.
 */
export function watchOutage(url: string): { stop(): Promise<Outage> } {
  let stopped = false;
  const watch = (async () => {
    const seen: Outage = { awayMs: 0, gaps: 0, back: true };
    let lastGood = performance.now();
    while (!stopped || !seen.back) {
      const good = await answers(url);
      const now = performance.now();
      if (good) {
        if (!seen.back) seen.awayMs += now - lastGood;
        seen.back = true;
        lastGood = now;
      } else {
        if (seen.back) seen.gaps++;
        seen.back = false;
        if (stopped) {
          seen.awayMs += now - lastGood;
          break;
        }
      }
      await sleep(everyMs);
    }
    return seen;
  })();
  return {
    stop: () => {
      stopped = true;
      return watch;
    },
  };
}

function answers(url: string): Promise<boolean> {
  return new Promise((resolve) => {
    // A connection of its own each time: one that is kept open would hide that nobody listens any more.
    const asked = request(url, { agent: false, timeout: patienceMs }, (answer) => {
      answer.resume();
      answer.once('end', () => resolve(answer.statusCode === 200));
      answer.once('error', () => resolve(false));
    });
    asked.once('timeout', () => asked.destroy());
    asked.once('error', () => resolve(false));
    asked.end();
  });
}
