/**
 * Environment for an updater whose clock runs `times` as fast, so waits of minutes end in seconds. Timers, the engine
 * and other processes keep their speed.
 */
export function fastClock(times: number): Record<string, string> {
  const script = `const now=performance.now.bind(performance);performance.now=()=>now()*${times}`;
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(script)}` };
}

/** Environment for an updater whose pauses take a twentieth of the time, whatever the log reports. */
export const shortPauses = {
  NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(
    "import timers from 'node:timers/promises';import{syncBuiltinESMExports}from'node:module';" +
      'const sleep=timers.setTimeout;timers.setTimeout=(ms,...more)=>sleep(ms/20,...more);syncBuiltinESMExports()',
  )}`,
};
