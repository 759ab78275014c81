/** Part of a line. Links always use https. */
export type NotesInline =
  | { kind: 'text' | 'code'; text: string }
  | { kind: 'strong' | 'em'; inside: NotesInline[] }
  | { kind: 'link'; href: string; inside: NotesInline[] };

export type NotesBlock =
  | { kind: 'heading'; isVersion?: boolean; inside: NotesInline[] }
  | { kind: 'paragraph'; inside: NotesInline[] }
  | { kind: 'list'; ordered: boolean; start: number; items: NotesInline[][] }
  | { kind: 'code'; lines: string[] };

/** Maximum nesting depth of emphasis and links. Deeper marks are shown as text. */
const maxNestingDepth = 4;
/** Maximum length of emphasis in characters. The limit keeps parsing fast for lines with many marks. */
const maxEmphasisLength = 1000;

/**
 * Parses release notes: headings, lists, paragraphs and code, with emphasis, inline code and https links. Everything
 * else becomes plain text, because release notes are untrusted.
 */
export function parseReleaseNotes(markdown: string): NotesBlock[] {
  const blocks: NotesBlock[] = [];
  /** Mark that opened the current code block; empty outside code blocks. */
  let fence = '';
  let isApart = true;
  for (const line of markdown.split(/\r\n|\n|\r/)) {
    const text = line.trim();
    const last = blocks.at(-1);
    if (fence !== '' && last?.kind === 'code') {
      if (text.startsWith(fence) && /^(`+|~+)$/.test(text)) fence = '';
      else last.lines.push(line);
      continue;
    }
    fence = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1] ?? '';
    if (fence !== '') blocks.push({ kind: 'code', lines: [] });
    isApart = fence !== '' || addLine(blocks, line, isApart);
  }
  return blocks;
}

/** Adds a line to the blocks. Returns whether the next line must start a new block. */
function addLine(blocks: NotesBlock[], line: string, isApart: boolean): boolean {
  const text = line.trim();
  if (text === '') return true;
  // A pattern with a repeated group would be slow on a long line of marks.
  if (/^[-*_][-*_ ]+$/.test(text) && text.replaceAll(' ', '').length > 2) return true;
  const heading = /^#{1,6}[ \t]+(.*)$/.exec(text)?.[1];
  if (heading !== undefined) {
    blocks.push({ kind: 'heading', inside: parseInline(heading.replace(/[ \t]#+$/, '')) });
    return true;
  }
  const last = blocks.at(-1);
  const [, mark = '', item] = /^([-*+]|\d{1,9}[.)])[ \t]+(.*)$/.exec(text) ?? [];
  if (item !== undefined) {
    const ordered = /^\d/.test(mark);
    if (last?.kind === 'list' && last.ordered === ordered) last.items.push(parseInline(item));
    else {
      const start = Number.parseInt(mark, 10) || 1;
      blocks.push({ kind: 'list', ordered, start, items: [parseInline(item)] });
    }
    return false;
  }
  const more = (before: NotesInline[]) => before.push({ kind: 'text', text: ' ' }, ...parseInline(text));
  if (!isApart && last?.kind === 'paragraph') more(last.inside);
  else if (last?.kind === 'list' && (!isApart || /^(?: {2}|\t)/.test(line))) more(last.items.at(-1) ?? []);
  else blocks.push({ kind: 'paragraph', inside: parseInline(text) });
  return false;
}

// To keep parsing fast, each alternative starts with a mark and limits the length of the text after the mark.
const inlineMarkPattern =
  /\\([!-/:-@[-`{-~])|(`+)|(!?\[[^[\]\n]{0,500}\])\(([^()\s]{0,2000}(?:\([^()\s]{0,500}\)[^()\s]{0,500})?)\)|(\*\*|__|\*|_)|(https:\/\/[^\s<>"'`]{1,2000})/g;

/** A link within a link becomes plain text. */
function parseInline(line: string, depth = 0, isInLink = false): NotesInline[] {
  const found: NotesInline[] = [];
  const pattern = new RegExp(inlineMarkPattern);
  let text = '';
  let at = 0;
  const flush = () => {
    if (text !== '') found.push({ kind: 'text', text });
    text = '';
  };
  for (let match = pattern.exec(line); match !== null; match = pattern.exec(line)) {
    const [whole, escaped, ticks, label, target = '', emphasis, address = ''] = match;
    text += line.slice(at, match.index);
    at = match.index + whole.length;
    let piece: NotesInline | null = null;
    if (ticks !== undefined) {
      const end = line.indexOf(ticks, at);
      if (end >= 0) {
        piece = { kind: 'code', text: line.slice(at, end).trim() };
        at = end + ticks.length;
      }
    } else if (label !== undefined) {
      const href = label.startsWith('!') || depth >= maxNestingDepth ? null : parseHttpsUrl(target);
      if (href !== null)
        piece = { kind: 'link', href, inside: parseInline(label.slice(1, -1), depth + 1, true) };
    } else if (emphasis !== undefined) {
      const end = depth < maxNestingDepth ? findEmphasisEnd(line, emphasis, at, match.index) : -1;
      if (end >= 0) {
        const kind = emphasis.length === 2 ? 'strong' : 'em';
        piece = { kind, inside: parseInline(line.slice(at, end), depth + 1, isInLink) };
        at = end + emphasis.length;
      }
    } else if (escaped === undefined) {
      const [shown = ''] = /^.*[^.,:;!?)*_]/.exec(address) ?? [];
      const href = parseHttpsUrl(shown);
      if (href !== null) {
        const inside: NotesInline = { kind: 'text', text: shown };
        piece = isInLink ? inside : { kind: 'link', href, inside: [inside] };
        at = match.index + shown.length;
      }
    }
    if (piece) {
      flush();
      found.push(piece);
    } else text += escaped ?? whole;
    pattern.lastIndex = at;
  }
  text += line.slice(at);
  flush();
  return found;
}

/**
 * Finds the end of the emphasized text that starts at `from`. Returns -1 if the opening mark is not emphasis or has no
 * closing mark.
 */
function findEmphasisEnd(line: string, mark: string, from: number, begin: number): number {
  const isWord = (char: string | undefined) => char !== undefined && /[\p{L}\p{N}]/u.test(char);
  // The marks in `snake_case` and ` * ` are not emphasis.
  if (/^\s?$/.test(line.charAt(from)) || (mark.startsWith('_') && isWord(line[begin - 1]))) return -1;
  let end = line.indexOf(mark, from + 1);
  for (; end >= 0 && end - from <= maxEmphasisLength; end = line.indexOf(mark, end + 1)) {
    const isDouble = mark.length === 1 && (line[end + 1] === mark || line[end - 1] === mark);
    const after = line[end + mark.length];
    if (!isDouble && !/\s/.test(line.charAt(end - 1)) && !(mark.startsWith('_') && isWord(after))) return end;
  }
  return -1;
}

/**
 * Returns null if the address does not use https, or contains a user name, which can mislead:
 * `https://github.com@evil.example`.
 */
function parseHttpsUrl(text: string): string | null {
  const url = /^https:\/\//i.test(text) && URL.canParse(text) ? new URL(text) : null;
  return url === null || url.username + url.password !== '' ? null : url.href;
}

/** Approximate number of characters that fit on a line. */
const lineLength = 56;

/**
 * Returns the blocks that fit on the given number of lines; the last block may be shortened. Returns null if all blocks
 * fit.
 */
export function truncateNotesBlocks(blocks: readonly NotesBlock[], lines: number): NotesBlock[] | null {
  const kept: NotesBlock[] = [];
  let left = lines;
  for (const block of blocks) {
    if (left <= 0) return kept;
    if (block.kind === 'list') {
      let count = 0;
      while (count < block.items.length && left > 0) left -= lineCountOf(block.items[count++] ?? []);
      kept.push({ ...block, items: block.items.slice(0, count) });
      if (count < block.items.length) return kept;
    } else if (block.kind === 'code') {
      kept.push({ ...block, lines: block.lines.slice(0, left) });
      left -= block.lines.length || 1;
      if (left < 0) return kept;
    } else {
      kept.push(block);
      left -= lineCountOf(block.inside);
    }
  }
  return null;
}

const lineCountOf = (inside: readonly NotesInline[]): number =>
  Math.max(1, Math.ceil(plainTextOf(inside).length / lineLength));

const plainTextOf = (inside: readonly NotesInline[]): string =>
  inside.map((piece) => ('inside' in piece ? plainTextOf(piece.inside) : piece.text)).join('');
