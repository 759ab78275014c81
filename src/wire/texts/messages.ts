// Messages of the server are clauses of its log, or sentences from the application that embeds the server library.

/**
 * Formats a message as a sentence. If a message begins with the name of the product, a version or a path, its first
 * letter stays.
 */
export function formatMessageSentence(message: string, product: string): string {
  const text = message.trim();
  const word = /^\p{Ll}+(?=[\s,;:']|$)/u.exec(text)?.[0];
  const begun = word === undefined || word === product ? text : text.charAt(0).toUpperCase() + text.slice(1);
  return begun === '' || /[.!?…:]$/.test(begun) ? begun : `${begun}.`;
}

/** Formats a message without its final period, as part of a longer sentence. */
export const formatMessageClause = (message: string): string => message.trim().replace(/\.$/, '');
