/** The sums that a SHA256SUMS file gives for a name, in lower case: none, one, or several that contradict each other. */
export function sumsFor(name: string, text: string): string[] {
  const lines = text.split(/\r?\n/).flatMap((line) => {
    // As sha256sum writes it: a star stands for "read as binary".
    const [, sum = '', file = ''] = /^([0-9a-fA-F]{64}) [ *](?:\.\/)?(.+)$/.exec(line) ?? [];
    return file === name ? [sum.toLowerCase()] : [];
  });
  return [...new Set(lines)];
}
