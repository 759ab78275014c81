/** A page with the header of a typical product. */
export interface HeaderPage {
  name: string;
  css: string;
  /** `NOTICE` is the place of the notice. */
  body: string;
  /** Whether the header is too narrow for the version at any width. */
  isRail?: boolean;
  /** Whether the header shortens its title. */
  hasLongTitle?: boolean;
  /** Whether the dialog must be dark. */
  isDark: boolean;
  /** Whether the notice must be dark. Default: as the dialog. */
  isNoticeDark?: boolean;
}

const bar = 'header { display: flex; align-items: center; gap: 12px; padding: 0 16px; height: 56px }';
const icons = '<button>☰</button><button>🔔</button><button>👤</button>';
const usual = 'h1 { font-size: 18px; margin: 0 } button { font: inherit }';

// Modelled on the headers of self-hosted products, in their own words. None of them sets `color-scheme`.
export const headerPages: readonly HeaderPage[] = [
  {
    name: 'code forge, dark theme on the root element',
    css: `:root { background: #14181d; color: #d0d7de } ${bar} header { background: #1b2026 } nav { display: flex; gap: 12px; flex: 1 } @media (max-width: 600px) { nav { display: none } h1 { flex: 1 } }`,
    body: `<header><h1>Forge</h1><nav><a>Issues</a><a>Pulls</a><a>Explore</a></nav>NOTICE${icons}</header><main>Code</main>`,
    isDark: true,
  },
  {
    name: 'cloud, light page below a blue header with a gradient',
    css: `body { background: #fff; color: #222 } ${bar} header { background: #00679e linear-gradient(40deg, #0082c9, #30b6ff); color: #fff } .apps { display: flex; gap: 14px; flex: 1; overflow: hidden } `,
    body: `<header><h1>Cloud</h1><span class="apps">▦ ✉ 🗓 ☎</span>NOTICE${icons}</header><main>Files</main>`,
    isDark: false,
    isNoticeDark: true,
  },
  {
    name: 'photos, white header with a search field that grows',
    css: `body { background: #fff } ${bar} header { border-bottom: 1px solid #ddd; padding: 0 8px } input { flex: 1; min-width: 30px } `,
    body: `<header><h1>Photo album</h1><input aria-label="Search">NOTICE<button>👤</button></header><main>Timeline</main>`,
    isDark: false,
  },
  {
    name: 'documents, green navigation bar whose text color is that of the page',
    css: `body { background: #f5f5f5; color: #212529 } ${bar} header { background: #17541f; justify-content: space-between } h1, header button { color: #fff; background: none; border: 0 }`,
    body: `<header><h1>Documents</h1>NOTICE<span>${icons}</span></header><main>Inbox</main>`,
    isDark: false,
    isNoticeDark: true,
  },
  {
    name: 'media, translucent header above a dark page',
    css: `body { background: #101010; color: #ddd } ${bar} header { background: rgba(255, 255, 255, .06); position: sticky; top: 0 } h1 { flex: 1 }`,
    body: `<header><button>☰</button><h1>Media</h1>NOTICE<button>🔍</button><button>👤</button></header><main>Films</main>`,
    isDark: true,
  },
  {
    name: 'containers, dark sidebar beside a light page',
    css: `body { background: #f9f9fb; display: flex; min-height: 100vh } header { background: #0b3a5e; color: #fff; width: 220px; flex: none; padding: 16px; display: flex; flex-direction: column; gap: 16px } nav { flex: 1 }`,
    body: `<header><h1>Containers</h1><nav>Stacks<br>Images</nav>NOTICE</header><main>Dashboard</main>`,
    isDark: false,
    isNoticeDark: true,
  },
  {
    name: 'recipes, an app element with a background in a transparent page',
    css: `.app { background: #1e1e1e; color: #fff; min-height: 100vh } ${bar} header { background: #e58325; color: #fff } h1 { flex: 1 }`,
    body: `<div class="app"><header><button>☰</button><h1>Recipes</h1>NOTICE<button>👤</button></header><main>Soup</main></div>`,
    isDark: true,
    isNoticeDark: false,
  },
  {
    name: 'notes, dark in a color space of its own',
    css: `.root { background: oklch(0.21 0.03 264); color: oklch(0.93 0.01 264); min-height: 100vh } ${bar} h1 { margin-inline-end: auto }`,
    body: `<div class="root"><header><h1>Notes</h1>NOTICE${icons}</header><main>List</main></div>`,
    isDark: true,
  },
  {
    name: 'feeds, a plain header of inline text',
    css: `body { max-width: 750px; margin: auto; background: #fff } header { padding: 8px } h1 { display: inline; margin-inline-end: 12px } a { margin-inline-end: 12px }`,
    body: `<header><h1>Feeds</h1><a>Unread</a><a>Starred</a>NOTICE</header><main>Entries</main>`,
    isDark: false,
  },
  {
    name: 'monitoring, a header in a grid',
    css: `body { background: #181b1f; color: #ccccdc } header { display: grid; grid-template-columns: auto 1fr auto auto; gap: 12px; align-items: center; padding: 8px 16px; border-bottom: 1px solid #333 }`,
    body: `<header><h1>Monitoring</h1><span>Home ›</span>NOTICE<span>${icons}</span></header><main>Panels</main>`,
    isDark: true,
  },
  {
    name: 'home, a toolbar with a long title that may not wrap',
    css: `body { background: #fafafa } ${bar} header { background: #03a9f4; color: #fff } h1 { flex: 1; white-space: nowrap; overflow: hidden; text-overflow: ellipsis }`,
    body: `<header><button>☰</button><h1>Home overview of the living room</h1>NOTICE<button>⋮</button></header><main>Lights</main>`,
    hasLongTitle: true,
    isDark: false,
  },
  {
    name: 'passwords, a narrow rail of icons',
    css: `body { background: #f3f6f9; display: flex; min-height: 100vh } header { width: 64px; flex: none; background: #175ddc; color: #fff; padding: 8px; box-sizing: border-box; display: flex; flex-direction: column; align-items: center; gap: 16px } h1 { font-size: 18px }`,
    body: `<header><h1>P</h1><span>🔒</span><span>⚙</span>NOTICE</header><main>Vault</main>`,
    isRail: true,
    isDark: false,
    isNoticeDark: true,
  },
  {
    name: 'chat, a dark card in the header of a light page',
    css: `body { background: #fff } ${bar} header { justify-content: center } .card { display: flex; align-items: center; gap: 8px; background: #1e325c; color: #fff; border-radius: 8px; padding: 6px 12px; max-width: 100% }`,
    body: `<header><div class="card"><h1>Chat</h1><span>Town square</span>NOTICE</div></header><main>Messages</main>`,
    isDark: false,
    isNoticeDark: true,
  },
  {
    name: 'tasks, a component with a slot in its dark header',
    css: `body { background: #fff } ${bar} header { background: #24292f; color: #fff } h1 { flex: 1 }`,
    body: `<div><template shadowrootmode="open"><link rel="stylesheet" href="/page.css"><header><h1>Tasks</h1><slot></slot>${icons}</header></template>NOTICE</div>`,
    isDark: false,
    isNoticeDark: true,
  },
  {
    name: 'bookmarks, a transparent component with a shadow root in a dark page',
    css: `body { background: #191919 } ${bar} header, a { color: #eee } h1 { flex: 1 }`,
    body: `<div><template shadowrootmode="open"><link rel="stylesheet" href="/page.css"><header><h1>Marks</h1>NOTICE<a>Log out</a></header></template></div>`,
    isDark: true,
  },
].map((one) => ({ ...one, css: `body { margin: 0; font: 16px/1.5 sans-serif } ${usual} ${one.css}` }));
