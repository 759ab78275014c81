import { parseObject } from '../../files/parse-object.ts';

/**
 * What compose said, for people: the text of its errors and warnings, without progress. Its JSON progress ends with
 * `{"error":true,"message":…}`; warnings of its logger come as `time="…" level=warning msg="…"`.
 */
export function composeMessages(stderr: string): string[] {
  const messages: string[] = [];
  for (const line of stderr.split(/\r?\n/)) {
    const text = readLine(line.trim());
    if (text && !messages.includes(text)) messages.push(text);
  }
  // The last error of a call repeats an earlier one with a prefix.
  const last = messages.at(-1)?.replace(/^Error response from daemon: /, '');
  return messages.filter((text, index) => index === messages.length - 1 || !last || !text.endsWith(last));
}

function readLine(line: string): string | null {
  if (line.startsWith('{')) {
    const event = parseObject(line);
    if (!event) return line;
    if (event.error === true) return String(event.message ?? '');
    // Compose up to 2.x says "Error" in the text of a line, from 5.0 in its status.
    if (event.text === 'Error' || event.status === 'Error') {
      const detail = [event.details, event.status, event.text].find((word) => word && word !== 'Error');
      return detail ? `${event.id ?? ''} ${detail}`.trim() : null;
    }
    return null;
  }
  const logged = /^time="[^"]*" level=(\w+) msg="((?:[^"\\]|\\.)*)"/.exec(line);
  return logged ? (logged[2] ?? '').replaceAll('\\"', '"') : line;
}
