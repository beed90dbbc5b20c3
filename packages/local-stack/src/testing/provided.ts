// A module, so that the declaration adds to vitest's.
export {};

declare module "vitest" {
  interface ProvidedContext {
    /** Superuser's connection string of the run's Postgres, in the `service` project. */
    postgresUrl: string;
    /** The same, through the pooler if the run has one. */
    pooledUrl: string;
    /** The socket that gives each worker its stack, in the `e2e` project: see own-stack.ts. */
    stackServer: string;
    /** The state that stacks begin with, in the projects with the set-up template-setup.ts. */
    stackTemplate: string;
    /** The directory that relative paths of stack.json start from. */
    stackDir: string;
  }
}
