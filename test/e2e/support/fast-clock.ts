/**
 * For the environment of an updater: the clock that it goes by runs so many times as fast, and what it would wait for
 * minutes is over in seconds. Its timers, the engine and whatever it watches keep their pace.
 */
export function fastClock(times: number): Record<string, string> {
  const script = `const now=performance.now.bind(performance);performance.now=()=>now()*${times}`;
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(script)}` };
}

/** For the same environment: what the updater sleeps for is over in a twentieth of the time, whatever the log says of it. */
export const shortPauses = {
  NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(
    "import timers from 'node:timers/promises';import{syncBuiltinESMExports}from'node:module';" +
      'const sleep=timers.setTimeout;timers.setTimeout=(ms,...more)=>sleep(ms/20,...more);syncBuiltinESMExports()',
  )}`,
};
