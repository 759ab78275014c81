import { parseImageReference, shortRepositoryOf } from '../../../core/compose/pins/image-reference.ts';
import type { ErrorCode } from '../../../core/errors/update-error.ts';
import { classifyPullFailure } from '../../../engine/registry/classify-pull-failure.ts';

/**
 * Finds which references failed to pull, according to the messages with this error code. If no such message contains a
 * reference, searches all messages. If no message contains a reference, returns all references.
 */
export function findFailedImages(
  references: Iterable<string>,
  messages: readonly string[],
  code: ErrorCode,
): string[] {
  const all = [...new Set(references)];
  const telling = messages.filter((line) => classifyPullFailure(line, all).code === code);
  for (const lines of [telling, messages]) {
    for (const form of [createReferencePattern, createRepositoryPattern]) {
      const found = all.filter((reference) => lines.some((line) => form(reference).test(line)));
      if (found.length > 0) return found;
    }
  }
  return all;
}

const createReferencePattern = (reference: string): RegExp =>
  createNamePattern(shortRepositoryOf(reference), String.raw`[\w.-]`);

/** Matches only the repository, because the engine does not report the tag if access is denied. */
function createRepositoryPattern(reference: string): RegExp {
  const repository = parseImageReference(reference)?.repository ?? reference;
  return createNamePattern(shortRepositoryOf(repository), String.raw`[\w./-]`);
}

/** Matches a whole name, not a part of a longer name. */
const createNamePattern = (text: string, notAfter: string): RegExp =>
  new RegExp(
    `(?:^|[^\\w./-]|docker\\.io/(?:library/)?)${text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}(?!${notAfter})`,
  );
