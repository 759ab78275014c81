import { parseObject } from '../json.ts';

/** A call that was under way when another one failed, or, in compose 5, one that lacks what that one was to make. */
const cancelled =
  /(?:^|[\s:])context canceled$|internal: rename node #\d+: create node #\d+ returned empty ID/;
/** Such a call, told with what the other one failed of: no engine has gone away. */
const causeOfCancelled = /error during connect: .*?: (?=error (?:response from daemon|from registry): )/gi;

/**
 * What compose said, for people: the text of its errors and warnings, without progress; the last one is the cause. Its
 * JSON progress ends with `{"error":true,"message":…}`; warnings of its logger come as `time="…" level=warning msg="…"`.
 */
export function composeMessages(stderr: string): string[] {
  const byText = new Map<string, { text: string; abouts: string[] }>();
  const warned = new Set<string>();
  for (const line of stderr.split(/\r?\n/)) {
    const { text, about, isWarning } = readLine(line.trim());
    if (text && isWarning) warned.add(text);
    if (!text) continue;
    // Services that fail of the same are told at once; what compose says in the end is about none of them.
    const key = `${about === '' ? '' : 'of'} ${text}`;
    const known = byText.get(key) ?? { text, abouts: [] };
    byText.set(key, known);
    if (!known.abouts.includes(about)) known.abouts.push(about);
  }
  const said = [...byText.values()].map(({ text, abouts }) => `${abouts.join(', ')} ${text}`.trim());
  // Where one call fails, compose cancels the others that are under way.
  const isCause = (text: string) => !cancelled.test(text);
  const messages = said.some((text) => isCause(text) && !warned.has(text)) ? said.filter(isCause) : said;
  // The last error of a call repeats an earlier one with a prefix.
  const last = messages.at(-1)?.replace(/^Error response from daemon: /, '');
  return messages.filter((text, index) => index === messages.length - 1 || !last || !text.endsWith(last));
}

/** Without what stands before the cause of a call that was cancelled because another one failed. */
export const withoutCancelled = (text: string): string => text.replaceAll(causeOfCancelled, '');

function readLine(line: string): { text: string | null; about: string; isWarning: boolean } {
  const said = (text: string | null, about = '') => ({
    text: text && withoutCancelled(text),
    about,
    isWarning: false,
  });
  if (line.startsWith('{')) {
    const event = parseObject(line);
    if (!event) return said(line);
    if (event.error === true) return said(String(event.message ?? ''));
    // Compose up to 2.x says "Error" in the text of a line, from 5.0 in its status.
    if (event.text === 'Error' || event.status === 'Error') {
      const detail = [event.details, event.status, event.text].find((word) => word && word !== 'Error');
      return said(detail ? String(detail) : null, String(event.id ?? ''));
    }
    return said(null);
  }
  const logged = /^time="[^"]*" level=(\w+) msg="([^"\\]*(?:\\.[^"\\]*)*)"/.exec(line);
  if (!logged) return said(line);
  return { ...said((logged[2] ?? '').replaceAll('\\"', '"')), isWarning: logged[1] === 'warning' };
}
