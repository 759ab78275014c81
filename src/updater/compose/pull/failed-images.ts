import { canonicalRepository, parseReference } from '../../../core/compose/reference.ts';
import type { ErrorCode } from '../../../core/progress/update-error.ts';
import { classifyPullFailure } from '../../../engine/pull-failure.ts';

/**
 * The images of a pull that its failure is about, of those that were asked for: what names one in a line of that failure,
 * else in any line. All where no line names any.
 */
export function failedImages(
  references: Iterable<string>,
  messages: readonly string[],
  code: ErrorCode,
): string[] {
  const all = [...new Set(references)];
  const telling = messages.filter((line) => classifyPullFailure(line, all).code === code);
  for (const lines of [telling, messages]) {
    for (const form of [wholeForm, repositoryForm]) {
      const found = all.filter((reference) => lines.some((line) => form(reference).test(line)));
      if (found.length > 0) return found;
    }
  }
  return all;
}

const wholeForm = (reference: string): RegExp => standing(canonicalRepository(reference), String.raw`[\w.-]`);

/** Where access is refused, the engine tells the repository alone. */
function repositoryForm(reference: string): RegExp {
  const repository = parseReference(reference)?.repository ?? reference;
  return standing(canonicalRepository(repository), String.raw`[\w./-]`);
}

/** The text by itself, and not as a part of another name. */
const standing = (text: string, notAfter: string): RegExp =>
  new RegExp(
    `(?:^|[^\\w./-]|docker\\.io/(?:library/)?)${text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}(?!${notAfter})`,
  );
