import { parseJsonOrNull } from '../objects/json.ts';

/**
 * Matches errors of calls that compose cancelled because another call failed. Compose 5 also reports errors for calls
 * that it could not make for this reason.
 */
const cancelled =
  /(?:^|[\s:])context canceled$|internal: rename node #\d+: create node #\d+ returned empty ID/;
/**
 * Matches the start of a cancelled call's message, before the actual cause. Its text `error during connect` is
 * misleading, because the engine is available.
 */
const causeOfCancelled = /error during connect: .*?: (?=error (?:response from daemon|from registry): )/gi;

/** Returns compose's errors and warnings, without its progress. The last message is the cause. */
export function parseComposeMessages(stderr: string): string[] {
  const byText = new Map<string, { text: string; abouts: string[] }>();
  const warned = new Set<string>();
  for (const line of stderr.split(/\r?\n/)) {
    const { text, about, isWarning } = readLine(line.trim());
    if (text && isWarning) warned.add(text);
    if (!text) continue;
    // Merge equal errors of several services into one message. Compose's final message belongs to no service, so it is
    // kept separate.
    const key = `${about === '' ? '' : 'of'} ${text}`;
    const known = byText.get(key) ?? { text, abouts: [] };
    byText.set(key, known);
    if (!known.abouts.includes(about)) known.abouts.push(about);
  }
  const given = [...byText.values()].map(({ text, abouts }) => `${abouts.join(', ')} ${text}`.trim());
  // If the cause is known, omit the errors of cancelled calls.
  const isCause = (text: string) => !cancelled.test(text);
  const messages = given.some((text) => isCause(text) && !warned.has(text)) ? given.filter(isCause) : given;
  // Omit earlier messages that the last message repeats.
  const last = messages.at(-1)?.replace(/^Error response from daemon: /, '');
  return messages.filter((text, index) => index === messages.length - 1 || !last || !text.endsWith(last));
}

/** Shortens the messages of cancelled calls to the actual cause. */
export const removeCancelledCallPrefix = (text: string): string => text.replaceAll(causeOfCancelled, '');

function readLine(line: string): { text: string | null; about: string; isWarning: boolean } {
  const given = (text: string | null, about = '') => ({
    text: text && removeCancelledCallPrefix(text),
    about,
    isWarning: false,
  });
  if (line.startsWith('{')) {
    const event = parseJsonOrNull(line);
    if (!event) return given(line);
    // Compose's JSON progress ends with `{"error":true,"message":…}`.
    if (event.error === true) return given(String(event.message ?? ''));
    // Compose up to 2.x prints "Error" in `text`, compose 5.0 and later in `status`.
    if (event.text === 'Error' || event.status === 'Error') {
      const detail = [event.details, event.status, event.text].find((word) => word && word !== 'Error');
      return given(detail ? String(detail) : null, String(event.id ?? ''));
    }
    return given(null);
  }
  const logged = /^time="[^"]*" level=(\w+) msg="([^"\\]*(?:\\.[^"\\]*)*)"/.exec(line);
  if (!logged) return given(line);
  return { ...given((logged[2] ?? '').replaceAll('\\"', '"')), isWarning: logged[1] === 'warning' };
}
