import type { ClassAttributes, HTMLAttributes } from 'preact';
import type { ElementTags } from './index.ts';
import type { TagProps } from './tags.ts';

/**
 * Types of the elements in Preact's JSX (docs/web.md). `keep-title={false}` is not allowed, because Preact would write
 * the attribute with the value "false", and the attribute has an effect whatever its value.
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
