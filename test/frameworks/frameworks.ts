/** An example of docs/frameworks/README.md. */
export interface Framework {
  /** Its heading in docs/frameworks/README.md. */
  name: string;
  /** Packages that are not in package.json; a campaign installs them. */
  packages?: Readonly<Record<string, string>>;
  /** Further files of its project. */
  files?: Readonly<Record<string, string>>;
  /** A command that builds the example. Without it, only types are checked. */
  build?: readonly string[];
  /** Packages of global types. Default: Node's. */
  types?: readonly string[];
  start: readonly string[];
  env?: Readonly<Record<string, string>>;
  /** A command that runs the example with hot reload. */
  dev?: readonly string[];
}

const node: Pick<Framework, 'start'> = { start: ['node', 'server.ts'] };

/** Frameworks that the gate tests. */
export const gateFrameworks: readonly [Framework, ...Framework[]] = [
  { name: 'Express', ...node },
  {
    name: 'Next.js',
    files: {
      'next.config.mjs': 'export default { typescript: { ignoreBuildErrors: true } };\n',
    },
    build: ['next', 'build'],
    start: ['next', 'start'],
    dev: ['next', 'dev'],
    env: { NEXT_MANUAL_SIG_HANDLE: 'true', NEXT_TELEMETRY_DISABLED: '1' },
  },
];

/** The program in the package for this machine; its usual path would require an install script. */
const bun = `../node_modules/@oven/bun-linux-${process.arch === 'arm64' ? 'aarch64' : process.arch}/bin/bun`;

/** Frameworks that only the campaign tests. */
export const otherFrameworks: readonly Framework[] = [
  { name: 'Fastify', ...node },
  {
    name: 'Nest',
    packages: {
      '@nestjs/common': '12.5.1',
      '@nestjs/core': '12.5.1',
      '@nestjs/platform-express': '12.5.1',
      'reflect-metadata': '0.2.2',
      rxjs: '7.8.2',
    },
    files: {
      // Nest requires decorators, which Node cannot run without compilation.
      'app.module.ts': `import 'reflect-metadata';
import { Module } from '@nestjs/common';

export class AppModule {}
Module({})(AppModule);
`,
    },
    start: ['node', 'main.ts'],
  },
  { name: 'Hono', ...node },
  {
    name: 'SvelteKit',
    packages: {
      '@sveltejs/adapter-node': '6.0.1',
      '@sveltejs/kit': '3.2.0',
      '@sveltejs/vite-plugin-svelte': '7.3.1',
      svelte: '5.57.3',
      // Its settings are read with the compiler's library, which the newest compiler does not have.
      typescript: '6.0.3',
      vite: '8.4.0',
    },
    files: {
      'src/app.html':
        '<!doctype html><html><head>%sveltekit.head%</head><body>%sveltekit.body%</body></html>\n',
      'src/routes/+page.svelte': '<p>svc</p>\n',
      'vite.config.js': `import adapter from '@sveltejs/adapter-node';
import { sveltekit } from '@sveltejs/kit/vite';
export default {
  plugins: [sveltekit({ adapter: adapter() })],
  server: { host: '127.0.0.1', port: Number(process.env.PORT ?? 0), strictPort: true },
};
`,
    },
    build: ['vite', 'build'],
    start: ['node', 'build/index.js'],
    dev: ['vite', 'dev'],
  },
  {
    name: 'Bun',
    packages: { bun: '1.4.5', '@types/bun': '1.4.5' },
    types: ['bun'],
    start: [bun, 'server.ts'],
    dev: [bun, '--hot', 'server.ts'],
  },
];
