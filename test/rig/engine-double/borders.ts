/** A place at which an answer is cut, and what ends or begins there. */
export interface Border {
  name: string;
  /** How many of the answer's bytes come before it. */
  at: number;
}

/** One place of each kind in a whole answer; its end is none of them: what is cut there is whole. */
export function cutsOf(answer: Buffer): Border[] {
  const head = answer.indexOf('\r\n\r\n') + 4;
  const body = answer.length - head;
  const places = {
    'before the head': 0,
    'in the status line': 9,
    'after the status line': answer.indexOf('\r\n') + 2,
    'in a header': answer.indexOf('\r\n') + 5,
    'in the empty line': head - 1,
    'after the head': head,
    'in the first of the body': head + 1,
    'after the size of a chunk, or a line': answer.indexOf('\n', head) + 1,
    'in a first part of the body': head + Math.floor(body / 4),
    'in the middle of the body': head + Math.floor(body / 2),
    'in a wide character': answer.findIndex((byte, at) => at >= head && byte >= 0xc0) + 1,
    'before the last chunk': answer.lastIndexOf('0\r\n\r\n'),
    'before the last byte': answer.length - 1,
  };
  const borders = Object.entries(places).map(([name, at]) => ({ name, at }));
  return [...new Map(borders.map((border) => [border.at, border])).values()].filter(
    ({ at }) => at >= 0 && at < answer.length,
  );
}
