import { root } from "@countersign/build/paths.ts";
import { run } from "@countersign/build/run.ts";

/** The state of a container, as `docker inspect` names it. */
interface ContainerState {
  readonly Name: string;
  readonly RestartCount: number;
  readonly State: { Status: string; ExitCode: number; Health?: { Status: string } };
}

export interface Container {
  /** Its service in docker-compose.yml. */
  readonly service: string;
  readonly status: string;
  readonly exitCode: number;
  readonly restarts: number;
  /** "healthy", "starting", "unhealthy", or "" without a health check. */
  readonly health: string;
}

/** A project of Compose: docker-compose.yml, and its further files. */
export class ComposeProject {
  readonly name: string;
  readonly env: NodeJS.ProcessEnv;
  readonly #files: readonly string[];

  constructor(name: string, files: readonly string[], env: NodeJS.ProcessEnv) {
    this.name = name;
    this.env = env;
    this.#files = files;
  }

  /** Runs `docker compose` in the checkout and returns its output. */
  run(...args: string[]): Promise<string> {
    const files = this.#files.flatMap((file) => ["--file", file]);
    return run("docker", ["compose", "--project-name", this.name, ...files, ...args], { cwd: root, env: this.env });
  }

  /** Runs a command in a service's container. */
  exec(service: string, ...command: string[]): Promise<string> {
    return this.run("exec", "--no-TTY", service, ...command);
  }

  /** Returns the containers, those that have ended too. */
  async containers(): Promise<Container[]> {
    const ids = (await this.run("ps", "--all", "--quiet")).split("\n").filter(Boolean);
    if (ids.length === 0) return [];
    const found = JSON.parse(await run("docker", ["inspect", ...ids], { env: this.env })) as ContainerState[];
    return found.map(({ Name, RestartCount, State }) => ({
      service: Name.replace(new RegExp(`^/${this.name}-(.*)-1$`), "$1"),
      status: State.Status,
      exitCode: State.ExitCode,
      restarts: RestartCount,
      health: State.Health?.Status ?? "",
    }));
  }
}
