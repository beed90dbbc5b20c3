import type { Stack } from "../stack-file.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** Superuser's connection string of the run's Postgres, in the `service` project. */
    postgresUrl: string;
    /** The content of stack.json, in the `e2e` project. */
    stack: Stack;
    /** The directory that relative paths of stack.json start from. */
    stackDir: string;
  }
}
