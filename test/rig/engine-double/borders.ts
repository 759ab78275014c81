/** A place in an answer where something begins or ends; whatever is cut there is cut between two things. */
export interface Border {
  /** `before the head`, `chunk 2: after its size`, `member 3: before it`: the same in every answer of one shape. */
  name: string;
  /** How many of the answer's bytes come before it. */
  at: number;
}

interface Body {
  bytes: Buffer;
  /** Where a byte of the body is in the answer. */
  placeOf(at: number): number;
}

/** Of members, frames and lines so many are told apart: the rest is like them. */
const most = 12;

/** All borders of an answer, or of what has come of one so far, in the order in which they stand there. */
export function bordersOf(answer: Buffer): Border[] {
  const borders: Border[] = [{ name: 'before the head', at: 0 }];
  const add = (name: string, at: number) => void borders.push({ name, at });
  const headEnd = answer.indexOf('\r\n\r\n');
  const head = answer.subarray(0, headEnd < 0 ? answer.length : headEnd + 2).toString('latin1');
  if (head.length > 9) add('in the status line', 9);
  let at = head.indexOf('\r\n') + 2;
  if (at < 2) return borders;
  add('after the status line', at);
  for (let number = 1; at < head.length; number++) {
    const end = head.indexOf('\r\n', at);
    if (end < 0) return borders;
    add(`header ${number}: in it`, at + 3);
    add(`header ${number}: after it`, end + 2);
    at = end + 2;
  }
  if (headEnd < 0) return borders;
  add('in the empty line', headEnd + 3);
  add('after the head', headEnd + 4);

  const rest = answer.subarray(headEnd + 4);
  const body: Body = /^transfer-encoding: *chunked/im.test(head)
    ? chunkedBody(rest, headEnd + 4, add)
    : { bytes: rest, placeOf: (place) => headEnd + 4 + place };
  for (const { name, at: place } of insideOf(
    body.bytes,
    /^content-type: *([^\r;]*)/im.exec(head)?.[1] ?? '',
  )) {
    add(name, body.placeOf(place));
  }
  const length = Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? 0);
  if (length > 0 && rest.length >= length) add('before the last byte', headEnd + 4 + length - 1);
  return borders.sort((a, b) => a.at - b.at);
}

/** The end of the answer is none of its borders: what is cut there is whole. */
export const cutsOf = (answer: Buffer): Border[] =>
  [...new Map(bordersOf(answer).map((border) => [border.at, border])).values()].filter(
    (border) => border.at < answer.length,
  );

function chunkedBody(rest: Buffer, start: number, add: (name: string, at: number) => void): Body {
  const pieces: { from: number; bytes: Buffer }[] = [];
  for (let at = 0, number = 1; at < rest.length; number++) {
    const sizeEnd = rest.indexOf('\r\n', at);
    if (sizeEnd < 0) break;
    const size = Number.parseInt(rest.subarray(at, sizeEnd).toString('latin1'), 16);
    const from = sizeEnd + 2;
    if (size === 0) {
      add('before the last chunk', start + at);
      add('in the last chunk', start + at + 1);
      add('after the last chunk', start + from);
      if (rest.length > from + 1) add('before the last byte', start + from + 1);
      break;
    }
    if (number <= most) {
      add(`chunk ${number}: before it`, start + at);
      add(`chunk ${number}: in its size`, start + at + 1);
      add(`chunk ${number}: after its size`, start + from);
      if (rest.length >= from + size) add(`chunk ${number}: after its bytes`, start + from + size);
    }
    pieces.push({ from, bytes: rest.subarray(from, from + size) });
    at = from + size + 2;
  }
  const placeOf = (place: number): number => {
    let left = place;
    for (const { from, bytes } of pieces) {
      if (left < bytes.length) return start + from + left;
      left -= bytes.length;
    }
    const last = pieces.at(-1);
    return start + (last === undefined ? 0 : last.from + last.bytes.length);
  };
  return { bytes: Buffer.concat(pieces.map(({ bytes }) => bytes)), placeOf };
}

function insideOf(body: Buffer, type: string): Border[] {
  if (body.length === 0) return [];
  if (type.includes('multiplexed-stream')) return insideFrames(body);
  const ends = [...body.entries()].filter(([, byte]) => byte === 0x0a).map(([at]) => at + 1);
  const isStream = ends.length > 1;
  const borders = isStream ? insideLines(ends) : insideJson(body.toString('latin1'));
  const wide = body.findIndex((byte) => byte >= 0xc0);
  if (wide >= 0 && wide + 1 < body.length) borders.push({ name: 'in a wide character', at: wide + 1 });
  return borders;
}

function insideFrames(body: Buffer): Border[] {
  const borders: Border[] = [];
  for (let at = 0, number = 1; at < body.length && number <= most; number++) {
    borders.push(
      { name: `frame ${number}: before it`, at },
      { name: `frame ${number}: in its head`, at: at + 3 },
    );
    if (at + 8 > body.length) break;
    const size = body.readUInt32BE(at + 4);
    borders.push({ name: `frame ${number}: after its head`, at: at + 8 });
    if (size > 1) {
      borders.push({ name: `frame ${number}: in its text`, at: at + 8 + Math.floor(size / 2) });
      borders.push({ name: `frame ${number}: before its end`, at: at + 8 + size - 1 });
    }
    const wide = body.subarray(at + 8, at + 8 + size).findIndex((byte) => byte >= 0xc0);
    if (wide >= 0) borders.push({ name: `frame ${number}: in a wide character`, at: at + 8 + wide + 1 });
    at += 8 + size;
    if (at <= body.length) borders.push({ name: `frame ${number}: after it`, at });
  }
  return borders.filter(({ at }) => at <= body.length);
}

const insideLines = (ends: readonly number[]): Border[] =>
  ends.slice(0, most).flatMap((end, index) => {
    const from = ends[index - 1] ?? 0;
    const name = `line ${index + 1}:`;
    return [
      { name: `${name} before it`, at: from },
      { name: `${name} in it`, at: Math.floor((from + end) / 2) },
      { name: `${name} before its end`, at: end - 1 },
      { name: `${name} after it`, at: end },
    ];
  });

/** Around the members of the outermost object or list, wherever one of them may itself be cut. */
function insideJson(text: string): Border[] {
  const borders: Border[] = [{ name: 'after the first byte', at: 1 }];
  let depth = 0;
  let members = 0;
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    if (char === '"') {
      for (at += 1; at < text.length && text[at] !== '"'; at++) if (text[at] === '\\') at += 1;
      continue;
    }
    if (char === '{' || char === '[') depth += 1;
    if (char === '}' || char === ']') depth -= 1;
    if (char === ',' && depth === 1 && ++members <= most) {
      borders.push({ name: `member ${members + 1}: before it`, at: at + 1 });
    }
    if (char === ':' && depth === 1 && members < most) {
      borders.push({ name: `member ${members + 1}: before its value`, at: at + 1 });
    }
    // The answer is whole JSON from here on, though not whole HTTP.
    if (depth === 0 && (char === '}' || char === ']')) {
      borders.push({ name: 'before the last bracket', at });
      if (at + 1 < text.length) borders.push({ name: 'after the last bracket', at: at + 1 });
    }
  }
  return borders;
}
