// Server messages are clauses from the log, or sentences from the application that embeds the library.

/** Capitalizes the first letter and adds a period. A product name, version or path at the beginning is not changed. */
export function formatMessageSentence(message: string, product: string): string {
  const text = message.trim();
  const word = /^\p{Ll}+(?=[\s,;:']|$)/u.exec(text)?.[0];
  const begun = word === undefined || word === product ? text : text.charAt(0).toUpperCase() + text.slice(1);
  return begun === '' || /[.!?…:]$/.test(begun) ? begun : `${begun}.`;
}

/** Removes the final period, so that the message can be part of a longer sentence. */
export const formatMessageClause = (message: string): string => message.trim().replace(/\.$/, '');
