import { defineConfig } from "vite";

export default defineConfig({
  build: {
    target: "es2022",
    cssTarget: "chrome125",
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 1_000,
    // Libraries mark their modules for servers that render React; nothing is rendered on a server here.
    rolldownOptions: { checks: { moduleLevelDirective: false } },
  },
});
