interface BrokenField {
  changed: unknown;
  /** `point.state is not valid` */
  mistake: string;
}

/**
 * Invalid variants of a value: for each field, one with a value of another type; for each object, one with an unknown
 * field.
 * @param free names of fields whose objects may contain anything
 */
export function brokenFields(value: object, free: readonly string[]): BrokenField[] {
  const broken: BrokenField[] = [];
  const visit = (node: unknown, path: readonly string[], put: (changed: unknown) => unknown): void => {
    if (path.length > 0)
      broken.push({ changed: put(ofOtherType(node)), mistake: `${path.join('.')} is not valid` });
    if (typeof node !== 'object' || node === null || free.includes(path.at(-1) ?? '')) return;
    if (!Array.isArray(node))
      broken.push({
        changed: put({ ...node, odd: 1 }),
        mistake: `${[...path, 'odd'].join('.')} is not a known field`,
      });
    for (const [key, inner] of Object.entries(node))
      visit(inner, [...path, key], (changed) =>
        put(Array.isArray(node) ? node.with(Number(key), changed) : { ...node, [key]: changed }),
      );
  };
  visit(value, [], (changed) => changed);
  return broken;
}

const ofOtherType = (value: unknown): unknown => (typeof value === 'boolean' ? 'yes' : true);
