import type { ClassAttributes, HTMLAttributes } from 'preact';
import type { ElementTags } from './index.ts';
import type { TagProps } from './tags.ts';

/**
 * Types of the elements in Preact's JSX (docs/web.md). `keep-title={false}` is forbidden: Preact would write
 * `keep-title="false"`, and the attribute takes effect with any value.
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
