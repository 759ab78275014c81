import type { ClassAttributes, HTMLAttributes } from 'react';
import type { ElementTags } from './index.ts';
import type { TagProps } from './tags.ts';

/** Types of the elements in React's JSX (docs/web.md). */
export type ReactTags = {
  [T in keyof ElementTags]: TagProps<T> & HTMLAttributes<ElementTags[T]> & ClassAttributes<ElementTags[T]>;
};

declare module 'react' {
  namespace JSX {
    interface IntrinsicElements extends ReactTags {}
  }
}
