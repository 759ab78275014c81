import type { ClassAttributes, HTMLAttributes } from 'preact';
import type { ElementTags } from './index.ts';
import type { TagProps } from './tags.ts';

/**
 * The elements in Preact's JSX (docs/web.md). Preact writes `keep-title={false}` as the
 * attribute "false", which would be set.
 */
export type PreactTags = {
  [T in keyof ElementTags]: Omit<TagProps<T>, 'keep-title'> & {
    'keep-title'?: true | undefined;
  } & HTMLAttributes<ElementTags[T]> &
    ClassAttributes<ElementTags[T]>;
};

declare module 'preact' {
  namespace JSX {
    interface IntrinsicElements extends PreactTags {}
  }
}
