import type { PublishedRelease } from '../../wire/status.ts';
import { type Child, h, type VNode } from '../elements/dom.ts';
import { type Block, folded, type Inline, readNotes } from '../model/notes.ts';
import { texts } from '../texts.ts';
import type { DialogContext } from './components.ts';

/** Lines of the notes that are shown before somebody asks for more. */
const shownLines = 12;

// Reading notes takes a while, and they are drawn again and again.
const known = new WeakMap<PublishedRelease, Block[]>();

/** The notes of the releases that an update brings, newest first, each below its version. */
export function notesNodes(releases: readonly PublishedRelease[], context: DialogContext): Child {
  const parts = releases.map((release) => {
    const blocks = known.get(release) ?? readNotes(release.notes ?? '');
    known.set(release, blocks);
    return { version: release.version, blocks };
  });
  if (parts.length === 0) return null;
  const all = parts.flatMap(({ version, blocks }) => [versionBlock(version), ...blocks]);
  const first = folded(all, shownLines);
  const shown = context.local.isUnfolded ? all : (first ?? all);
  return h(
    'div',
    { key: 'notes', class: 'notes' },
    ...shown.map((block) => blockNode(block)),
    first !== null && !context.local.isUnfolded
      ? h(
          'button',
          { key: 'more', type: 'button', class: 'more', onclick: () => context.set({ isUnfolded: true }) },
          texts().showAll,
        )
      : null,
  );
}

interface VersionBlock {
  kind: 'heading';
  isVersion: true;
  inside: Inline[];
}

const versionBlock = (version: string): VersionBlock => ({
  kind: 'heading',
  isVersion: true,
  inside: [{ kind: 'text', text: version }],
});

function blockNode(block: Block | VersionBlock): VNode {
  switch (block.kind) {
    case 'heading':
      return h('isVersion' in block ? 'h4' : 'h5', {}, ...block.inside.map(inlineNode));
    case 'paragraph':
      return h('p', {}, ...block.inside.map(inlineNode));
    case 'code':
      return h('pre', {}, block.text);
    case 'list': {
      const items = block.items.map((item) => h('li', {}, ...item.map(inlineNode)));
      return block.ordered
        ? h('ol', { start: block.start === 1 ? null : block.start }, ...items)
        : h('ul', {}, ...items);
    }
  }
}

function inlineNode(piece: Inline): Child {
  switch (piece.kind) {
    case 'text':
      return piece.text;
    case 'link':
      return h(
        'a',
        { href: piece.href, target: '_blank', rel: 'noopener noreferrer' },
        ...piece.inside.map(inlineNode),
      );
    case 'code':
      return h('code', {}, piece.text);
    default:
      return h(piece.kind, {}, ...piece.inside.map(inlineNode));
  }
}
