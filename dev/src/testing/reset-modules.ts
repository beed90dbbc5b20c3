import { vi } from "vitest";

// Files of one worker share its process. Each file still evaluates this repository's modules itself: no state
// and no hook of a module is left from the file before. Packages below node_modules are loaded once.
vi.resetModules();
