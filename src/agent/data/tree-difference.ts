/** How a tree differs from the one that was kept. */
export interface TreeDifference {
  added: number;
  gone: number;
  changed: number;
}

/** Type, permissions, owner, size or device, time, name; the name's own bytes are escaped, and so is a line break. */
const form = /^(.)([-a-zA-Z]{9})\S? *(\S+) +(\S+) (\d[\d-]+ [\d:.]+) (.*)$/;

/**
 * By what `tar --verbose --full-time` says of both, which tells of contents by size and time alone.
 * @param before of the tar, @param now of the tree
 */
export function countDifferences(before: readonly string[], now: readonly string[]): TreeDifference {
  const old = new Map(before.flatMap((line) => entryOf(line)));
  const found: TreeDifference = { added: 0, gone: 0, changed: 0 };
  for (const [name, is] of now.flatMap((line) => entryOf(line))) {
    const was = old.get(name);
    if (was === undefined) found.added++;
    else if (was !== is) found.changed++;
    old.delete(name);
  }
  found.gone = old.size;
  return found;
}

function entryOf(line: string): [name: string, is: string][] {
  const [, type = '', rights = '', owner = '', size = '', time = '', rest = ''] = form.exec(line) ?? [];
  if (rest === '') return [];
  // A directory's time says no more than that something in it is new or gone.
  if (type === 'd') return [[rest, `d${rights} ${owner}`]];
  const [name = '', target = ''] = rest.split(type === 'l' ? ' -> ' : type === 'h' ? ' link to ' : '\n');
  return [[name, `${type}${rights} ${owner} ${size} ${time} ${target}`]];
}
