import { parse } from 'dotenv';
import type { Model } from '../../engine/cli/compose.ts';
import type { Container } from '../../engine/container.ts';
import type { TextFile } from '../../files/text-file.ts';

export interface Secret {
  key: string;
  value: string;
}

/** Values of env files. dotenv is tolerant, which is right here: a line that compose rejects may hold a password, too. */
export const secretsOfFiles = (files: readonly TextFile[]): Secret[] =>
  files.flatMap(({ text }) => Object.entries(parse(text)).map(([key, value]) => ({ key, value })));

export const secretsOfModel = (model: Model): Secret[] =>
  Object.values(model.services).flatMap(({ environment }) =>
    Object.entries(environment ?? {}).map(([key, value]) => ({ key, value: value ?? '' })),
  );

/** A shell may have set more than the files tell. PATH and the like come from images. */
export const secretsOfContainers = (containers: readonly Container[]): Secret[] =>
  containers.flatMap(({ env }) =>
    [...env].filter(([key]) => key !== 'PATH' && key !== 'HOME').map(([key, value]) => ({ key, value })),
  );
