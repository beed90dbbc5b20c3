import { configDefaults, defineConfig } from "vitest/config";

const sources = "{packages,services,gateway,dev,bench}";
const exclude = [...configDefaults.exclude, "**/generated/**", "proto/gen/**"];

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: "unit",
          include: [`${sources}/**/*.test.ts`, "tests/faults/proxy/*.test.ts"],
          exclude: [...exclude, "**/*.service.test.ts"],
          globalSetup: ["dev/src/testing/parser-setup.ts"],
        },
      },
      {
        test: {
          name: "service",
          include: [`${sources}/**/*.service.test.ts`],
          exclude,
          globalSetup: ["dev/src/testing/postgres-setup.ts"],
          testTimeout: 20_000,
          hookTimeout: 60_000,
          maxWorkers: 2,
          sequence: { groupOrder: 1 },
        },
      },
      {
        // One stack for all files, on machines with few cores: one file after the other.
        test: {
          name: "e2e",
          include: ["tests/**/*.test.ts"],
          exclude: [...exclude, "tests/faults/**"],
          globalSetup: ["dev/src/testing/stack-setup.ts"],
          testTimeout: 60_000,
          hookTimeout: 120_000,
          fileParallelism: false,
          sequence: { groupOrder: 2 },
        },
      },
      {
        // Each file has a stack of its own, which it may maltreat.
        test: {
          name: "faults",
          include: ["tests/faults/*.test.ts"],
          exclude,
          testTimeout: 120_000,
          hookTimeout: 120_000,
          fileParallelism: false,
          sequence: { groupOrder: 3 },
        },
      },
    ],
  },
});
