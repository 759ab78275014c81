/** Names that a source text declares and exports. */
export const exportedNames = (text: string): string[] =>
  [
    ...text.matchAll(
      /^export (?:abstract |async |declare )*(?:function\*?|const|let|class|interface|type|enum) (\w+)/gm,
    ),
  ].map(([, name = '']) => name);
