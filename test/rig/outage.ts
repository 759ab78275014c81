import { request } from 'node:http';

export interface Outage {
  /** Total time in milliseconds in which the address did not respond. */
  awayMs: number;
  gaps: number;
  /** The longest gap. */
  longestMs: number;
  /** Whether the address responded in the end. */
  back: boolean;
}

interface Question {
  askedAt: number;
  /** Null without a successful response. */
  answeredAt: number | null;
}

const everyMs = 5;
/**
 * On loopback, a running server responds within a few milliseconds. While a container's network is starting, the
 * engine accepts connections and lets them hang: waiting for one would hide that the next request is answered at once.
 */
const patienceMs = 100;
const lastTries = 20;

/**
 * Requests an address every 5 ms until `stop` is called, without waiting for earlier responses: a hanging request must
 * not delay later ones. A gap lasts from the last successful response before a failed request to the first one after
 * it.
 */
export function watchOutage(url: string): { stop(): Promise<Outage> } {
  const questions: Promise<Question>[] = [];
  const timer = setInterval(() => questions.push(ask(url)), everyMs);
  let result: Promise<Outage> | undefined;
  return {
    stop: () => {
      clearInterval(timer);
      result ??= lastWord(url).then(async (last) => outageOf([...(await Promise.all(questions)), ...last]));
      return result;
    },
  };
}

/** Requests until the first successful response. Returns it and the failures before it. */
async function lastWord(url: string): Promise<Question[]> {
  const questions: Question[] = [];
  do questions.push(await ask(url));
  while (questions.at(-1)?.answeredAt === null && questions.length < lastTries);
  return questions;
}

function outageOf(questions: readonly Question[]): Outage {
  const seen: Outage = { awayMs: 0, gaps: 0, longestMs: 0, back: true };
  let lastGood = questions[0]?.askedAt ?? 0;
  for (const { askedAt, answeredAt } of questions.toSorted((a, b) => a.askedAt - b.askedAt)) {
    if (answeredAt === null) {
      if (seen.back) seen.gaps++;
      seen.back = false;
    } else {
      if (!seen.back) add(seen, Math.max(0, answeredAt - lastGood));
      seen.back = true;
      lastGood = Math.max(lastGood, askedAt);
    }
  }
  if (!seen.back) add(seen, (questions.at(-1)?.askedAt ?? lastGood) - lastGood);
  return seen;
}

function add(seen: Outage, gap: number): void {
  seen.awayMs += gap;
  seen.longestMs = Math.max(seen.longestMs, gap);
}

function ask(url: string): Promise<Question> {
  const askedAt = performance.now();
  return new Promise((resolve) => {
    const end = (isGood: boolean) => resolve({ askedAt, answeredAt: isGood ? performance.now() : null });
    // Each request has its own connection: an existing connection would hide that nobody is listening any more.
    const asked = request(url, { agent: false, timeout: patienceMs }, (answer) => {
      answer.resume();
      answer.once('end', () => end(answer.statusCode === 200));
      answer.once('error', () => end(false));
    });
    asked.once('timeout', () => asked.destroy());
    asked.once('error', () => end(false));
    asked.end();
  });
}
