import { availableParallelism } from "node:os";
import { resolve } from "node:path";
import { configDefaults, defineConfig } from "vitest/config";
import { LongestFirst } from "./dev/src/testing/longest-first.ts";
import { reactNativeGlobals } from "./dev/src/testing/react-native-globals.ts";

const PHONE_MODULES = /^(expo-[a-z-]+|react-native|@sbaiahmed1\/react-native-biometrics)$/;

const sources = "{packages,services,gateway,admin,dev,bench}";
const exclude = [...configDefaults.exclude, "**/generated/**", "proto/gen/**"];

/** Of all projects. `expect.poll` waits for as long as a busy machine may take; its default is a second. */
const common = { exclude, expect: { poll: { timeout: 15_000 } } };

/** Vitest's default leaves one core for itself, which on two cores is half of the machine. */
const maxWorkers = Math.max(2, availableParallelism() - 1);

/** A process for many files: to start one and to load the same packages costs more than most files' tests. */
const sharedWorkers = { isolate: false, setupFiles: ["dev/src/testing/reset-modules.ts"] };

/** Minutes each; `npm test` leaves them to `npm run test:operations`, which runs all fault tests. */
const LONG_FAULTS = [
  "budgets",
  "chain-keys",
  "chain-watch",
  "key-rotation",
  "server-key-rotation",
  "slow-parts",
  "webhooks",
].map((name) => `tests/faults/${name}.test.ts`);

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        test: {
          name: "unit",
          ...common,
          include: [`${sources}/**/*.test.{ts,tsx}`, "tests/{faults/proxy,models}/*.test.ts"],
          exclude: [...exclude, "**/*.{service,long}.test.ts"],
          globalSetup: ["packages/local-stack/src/testing/parser-setup.ts"],
          // Only against a test that hangs: some run a program, which takes its time on a busy machine.
          testTimeout: 20_000,
          hookTimeout: 60_000,
          ...sharedWorkers,
          maxWorkers,
        },
      },
      {
        // The unit tests of what runs on phones once more, with the globals of React Native. Without the
        // property tests, which take minutes, and without those of browsers' keys.
        plugins: [reactNativeGlobals()],
        test: {
          name: "react-native",
          ...common,
          include: ["packages/{client,fcl,flow,keys,react-native}/**/*.test.ts"],
          exclude: [...exclude, "**/*.{browser,property}.test.ts"],
          ...sharedWorkers,
          maxWorkers,
        },
      },
      {
        test: {
          name: "service",
          ...common,
          include: [`${sources}/**/*.service.test.ts`],
          exclude: process.env.CS_TEST_PGBOUNCER ? exclude : [...exclude, "**/pgbouncer.service.test.ts"],
          globalSetup: ["packages/local-stack/src/testing/postgres-setup.ts"],
          testTimeout: 20_000,
          hookTimeout: 60_000,
          ...sharedWorkers,
          maxWorkers: 2,
          sequence: { groupOrder: 1 },
        },
      },
      {
        // Each worker has a stack: half of the time a file waits, for the chain or for a time lock.
        test: {
          name: "e2e",
          ...common,
          include: ["tests/**/*.test.ts"],
          exclude: [...exclude, "tests/{answers,api,deploy,docs,faults,models,native,operations,packages,wallet}/**"],
          globalSetup: ["template-setup", "stack-setup"].map((name) => `packages/local-stack/src/testing/${name}.ts`),
          testTimeout: 60_000,
          hookTimeout: 120_000,
          maxWorkers: 2,
          sequence: { groupOrder: 2 },
        },
      },
      {
        // The Helm chart: `npm run check:deploy`.
        test: {
          name: "deploy",
          ...common,
          include: ["tests/deploy/*.test.ts"],
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        // Compares the answers of the e2e project's gateways with the documented ones.
        test: {
          name: "answers",
          ...common,
          include: ["tests/answers/*.test.ts"],
          sequence: { groupOrder: 3 },
        },
      },
      {
        // `npm run test:docs`: the site, and the code blocks of its pages. A phone's modules are substitutes.
        resolve: { alias: [{ find: PHONE_MODULES, replacement: resolve("tests/docs/set-up/phone-modules.ts") }] },
        test: {
          name: "docs",
          ...common,
          include: ["tests/docs/*.test.ts"],
          globalSetup: ["packages/local-stack/src/testing/stack-setup.ts"],
          testTimeout: 120_000,
          hookTimeout: 120_000,
          maxWorkers: 2,
        },
      },
      {
        // `npm run test:packages`: what app developers install, outside of this repository.
        test: {
          name: "packages",
          ...common,
          include: ["tests/packages/*.test.ts"],
          testTimeout: 120_000,
        },
      },
      {
        // `npm run test:api`: validators, generators and generated clients.
        test: {
          name: "api",
          ...common,
          include: ["tests/api/*.test.ts"],
          globalSetup: ["packages/local-stack/src/testing/stack-setup.ts"],
          testTimeout: 180_000,
          hookTimeout: 120_000,
          maxWorkers: 1,
        },
      },
      {
        // `npm run test:native`: the Kotlin and the Swift client, built and run against a stack.
        test: {
          name: "native",
          ...common,
          include: ["tests/native/*.test.ts"],
          globalSetup: ["packages/local-stack/src/testing/stack-setup.ts"],
          testTimeout: 600_000,
          hookTimeout: 180_000,
          maxWorkers: 1,
        },
      },
      {
        // `npm run test:wallet`: apps/wallet in Chromium.
        test: {
          name: "wallet",
          ...common,
          include: ["tests/wallet/*.test.ts"],
          globalSetup: ["packages/local-stack/src/testing/stack-setup.ts"],
          testTimeout: 120_000,
          hookTimeout: 120_000,
          maxWorkers: 1,
        },
      },
      {
        // `npm run test:operations`: minutes for each file.
        test: {
          name: "operations",
          ...common,
          include: ["tests/operations/*.test.ts", `${sources}/**/*.long.test.ts`],
          globalSetup: ["packages/local-stack/src/testing/template-setup.ts"],
          testTimeout: 120_000,
          hookTimeout: 120_000,
          maxWorkers: 1,
        },
      },
      {
        // Each file has a stack of its own and kills its processes; half of the time it waits for a restart.
        test: {
          name: "faults",
          ...common,
          include: ["tests/faults/*.test.ts"],
          exclude: process.env.CS_TEST_LONG_FAULTS === "0" ? [...exclude, ...LONG_FAULTS] : exclude,
          globalSetup: ["packages/local-stack/src/testing/template-setup.ts"],
          testTimeout: 120_000,
          hookTimeout: 120_000,
          maxWorkers: 2,
          sequence: { groupOrder: 4 },
        },
      },
    ],
  },
});
