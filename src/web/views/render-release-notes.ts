import type { PublishedRelease } from '../../wire/status.ts';
import { h, type VNode, type VNodeChild } from '../dom/vnode.ts';
import {
  type NotesBlock,
  type NotesInline,
  parseReleaseNotes,
  truncateNotesBlocks,
} from '../model/parse-release-notes.ts';
import type { DialogContext } from './components.ts';

/** Number of lines shown until the user presses *Show all*. */
const shownLines = 12;

// Parsed notes by release. They are cached because the notes are rendered again after each change.
const parsedNotes = new WeakMap<PublishedRelease, NotesBlock[]>();

/** Renders the notes of all releases in an update, newest first, each below its version. */
export function renderReleaseNotes(
  releases: readonly PublishedRelease[],
  context: DialogContext,
): VNodeChild {
  if (releases.length === 0) return null;
  const all = releases.flatMap((release): NotesBlock[] => {
    const blocks = parsedNotes.get(release) ?? parseReleaseNotes(release.notes ?? '');
    parsedNotes.set(release, blocks);
    const version: NotesInline = { kind: 'text', text: release.version };
    return [{ kind: 'heading', isVersion: true, inside: [version] }, ...blocks];
  });
  const first = context.local.isUnfolded ? null : truncateNotesBlocks(all, shownLines);
  return h(
    'div',
    { key: 'notes', class: 'notes' },
    ...(first ?? all).map(renderBlock),
    first &&
      h(
        'button',
        { key: 'more', type: 'button', class: 'more', onclick: () => context.set({ isUnfolded: true }) },
        context.t.showAll,
      ),
  );
}

function renderBlock(block: NotesBlock): VNode {
  switch (block.kind) {
    case 'heading':
      return h(block.isVersion ? 'h4' : 'h5', ...block.inside.map(renderInline));
    case 'paragraph':
      return h('p', ...block.inside.map(renderInline));
    case 'code':
      return h('pre', block.lines.join('\n'));
    case 'list': {
      const items = block.items.map((item) => h('li', ...item.map(renderInline)));
      return block.ordered
        ? h('ol', { start: block.start === 1 ? null : block.start }, ...items)
        : h('ul', ...items);
    }
  }
}

function renderInline(piece: NotesInline): VNodeChild {
  switch (piece.kind) {
    case 'text':
      return piece.text;
    case 'code':
      return h('code', piece.text);
    case 'link': {
      const link = { href: piece.href, target: '_blank', rel: 'noopener noreferrer' };
      return h('a', link, ...piece.inside.map(renderInline));
    }
    default:
      return h(piece.kind, {}, ...piece.inside.map(renderInline));
  }
}
