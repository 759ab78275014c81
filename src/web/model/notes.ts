/** A piece of a line. Links lead to https alone. */
export type Inline =
  | { kind: 'text' | 'code'; text: string }
  | { kind: 'strong' | 'em'; inside: Inline[] }
  | { kind: 'link'; href: string; inside: Inline[] };

export type Block =
  | { kind: 'heading'; inside: Inline[] }
  | { kind: 'paragraph'; inside: Inline[] }
  | { kind: 'list'; ordered: boolean; start: number; items: Inline[][] }
  | { kind: 'code'; text: string };

/** Nesting of emphasis beyond which marks are text. */
const deepest = 4;
/** Characters that emphasis goes over at most: a line of nothing but marks takes no time. */
const farthest = 1000;

/**
 * The notes of a release: headings, lists, paragraphs, code, and in them emphasis, code and https links. They are
 * somebody else's text, so everything else (HTML, images, other links) stays the text that it is.
 */
export function readNotes(markdown: string): Block[] {
  const blocks: Block[] = [];
  let fence: { mark: string; lines: string[] } | null = null;
  let isApart = true;
  for (const line of markdown.split(/\r\n|\n|\r/)) {
    if (fence) {
      if (line.trim().startsWith(fence.mark) && /^(`+|~+)$/.test(line.trim())) {
        blocks.push({ kind: 'code', text: fence.lines.join('\n') });
        fence = null;
      } else fence.lines.push(line);
      continue;
    }
    const opening = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1];
    if (opening !== undefined) {
      fence = { mark: opening, lines: [] };
      isApart = true;
      continue;
    }
    isApart = addLine(blocks, line, isApart);
  }
  if (fence) blocks.push({ kind: 'code', text: fence.lines.join('\n') });
  return blocks;
}

/** Adds one line; gives whether the next one stands apart from it. */
function addLine(blocks: Block[], line: string, isApart: boolean): boolean {
  const text = line.trim();
  if (text === '') return true;
  // Without a group that repeats: a long line of marks would be too much for it.
  if (/^[-*_][-*_ ]+$/.test(text) && text.replaceAll(' ', '').length > 2) return true;
  const heading = /^#{1,6}[ \t]+(.*)$/.exec(text)?.[1];
  if (heading !== undefined) {
    blocks.push({ kind: 'heading', inside: readInline(heading.replace(/[ \t]#+$/, '')) });
    return true;
  }
  const last = blocks.at(-1);
  const [, mark = '', item] = /^([-*+]|\d{1,9}[.)])[ \t]+(.*)$/.exec(text) ?? [];
  if (item !== undefined) {
    const ordered = /^\d/.test(mark);
    if (last?.kind === 'list' && last.ordered === ordered) last.items.push(readInline(item));
    else
      blocks.push({
        kind: 'list',
        ordered,
        start: Number.parseInt(mark, 10) || 1,
        items: [readInline(item)],
      });
    return false;
  }
  const more = (before: Inline[]) => before.push({ kind: 'text', text: ' ' }, ...readInline(text));
  if (!isApart && last?.kind === 'paragraph') more(last.inside);
  else if (last?.kind === 'list' && (!isApart || /^(?: {2}|\t)/.test(line))) more(last.items.at(-1) ?? []);
  else blocks.push({ kind: 'paragraph', inside: readInline(text) });
  return false;
}

// Each way in begins at a mark and looks at a bounded piece, so that no text takes long.
const marks =
  /\\([!-/:-@[-`{-~])|(`+)|(!?\[[^[\]\n]{0,500}\])\(([^()\s]{0,2000}(?:\([^()\s]{0,500}\)[^()\s]{0,500})?)\)|(\*\*|__|\*|_)|(https:\/\/[^\s<>"'`]{1,2000})/g;

/** The pieces of a line. */
export function readInline(line: string, depth = 0): Inline[] {
  const found: Inline[] = [];
  let text = '';
  const flush = () => {
    if (text !== '') found.push({ kind: 'text', text });
    text = '';
  };
  const add = (piece: Inline) => {
    flush();
    found.push(piece);
  };
  const pattern = new RegExp(marks);
  let at = 0;
  for (let match = pattern.exec(line); match !== null; match = pattern.exec(line)) {
    const [whole, escaped, ticks, label, target = '', emphasis, address] = match;
    text += line.slice(at, match.index);
    at = match.index + whole.length;
    if (escaped !== undefined) text += escaped;
    else if (ticks !== undefined) {
      const end = line.indexOf(ticks, at);
      if (end < 0) text += whole;
      else {
        add({ kind: 'code', text: line.slice(at, end).trim() });
        at = end + ticks.length;
      }
    } else if (label !== undefined) {
      const href = label.startsWith('!') ? null : httpsUrl(target);
      if (href === null || depth >= deepest) text += whole;
      else add({ kind: 'link', href, inside: withoutLinks(readInline(label.slice(1, -1), depth + 1)) });
    } else if (emphasis !== undefined) {
      const end = depth < deepest ? closing(line, emphasis, at, match.index) : -1;
      if (end < 0) text += whole;
      else {
        const inside = readInline(line.slice(at, end), depth + 1);
        add(emphasis.length === 2 ? { kind: 'strong', inside } : { kind: 'em', inside });
        at = end + emphasis.length;
      }
    } else if (address !== undefined) {
      const [shown = ''] = /^.*[^.,:;!?)*_]/.exec(address) ?? [];
      const href = httpsUrl(shown);
      if (href === null) text += whole;
      else {
        add({ kind: 'link', href, inside: [{ kind: 'text', text: shown }] });
        at = match.index + shown.length;
      }
    }
    pattern.lastIndex = at;
  }
  text += line.slice(at);
  flush();
  return found;
}

/** Where emphasis that begins before `from` ends; -1 where it does not. */
function closing(line: string, mark: string, from: number, begin: number): number {
  const isWord = (char: string | undefined) => char !== undefined && /[\p{L}\p{N}]/u.test(char);
  // `snake_case` is a name, and ` * ` a star.
  if (/^\s?$/.test(line.charAt(from)) || (mark.startsWith('_') && isWord(line[begin - 1]))) return -1;
  let end = line.indexOf(mark, from + 1);
  for (; end >= 0 && end - from <= farthest; end = line.indexOf(mark, end + 1)) {
    const isDouble = mark.length === 1 && (line[end + 1] === mark || line[end - 1] === mark);
    const after = line[end + mark.length];
    if (!isDouble && !/\s/.test(line.charAt(end - 1)) && !(mark.startsWith('_') && isWord(after))) return end;
  }
  return -1;
}

/** None with a user in front of its host: `https://github.com@evil.example` leads elsewhere than it looks. */
function httpsUrl(text: string): string | null {
  const url = /^https:\/\//i.test(text) ? URL.parse(text) : null;
  return url === null || url.username + url.password !== '' ? null : url.href;
}

const withoutLinks = (pieces: Inline[]): Inline[] =>
  pieces.flatMap((piece): Inline[] => {
    if (piece.kind === 'link') return withoutLinks(piece.inside);
    return 'inside' in piece ? [{ ...piece, inside: withoutLinks(piece.inside) }] : [piece];
  });

/** Characters of a line of notes, about. */
const lineLength = 56;

/** The blocks of the first lines as they are shown; null where all of them fit. */
export function folded(blocks: readonly Block[], lines: number): Block[] | null {
  const kept: Block[] = [];
  let left = lines;
  for (const block of blocks) {
    if (left <= 0) return kept;
    if (block.kind === 'list') {
      let count = 0;
      while (count < block.items.length && left > 0) left -= linesOf(block.items[count++] ?? []);
      kept.push({ ...block, items: block.items.slice(0, count) });
      if (count < block.items.length) return kept;
    } else if (block.kind === 'code') {
      const all = block.text.split('\n');
      kept.push({ ...block, text: all.slice(0, left).join('\n') });
      left -= all.length;
      if (left < 0) return kept;
    } else {
      kept.push(block);
      left -= linesOf(block.inside);
    }
  }
  return null;
}

const linesOf = (inside: readonly Inline[]): number =>
  Math.max(1, Math.ceil(textOf(inside).length / lineLength));

/** The text of pieces, without what marks it. */
export const textOf = (inside: readonly Inline[]): string =>
  inside.map((piece) => ('inside' in piece ? textOf(piece.inside) : piece.text)).join('');
