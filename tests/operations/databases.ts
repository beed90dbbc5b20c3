import { execFileSync } from "node:child_process";
import { appendFileSync, existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { postgresDir, type ServiceName, services } from "@countersign/build/paths.ts";
import { findPostgres } from "@countersign/local-stack/postgres-binaries.ts";
import type { RunningStack } from "@countersign/local-stack/stack.ts";
import pg from "pg";

/** The Postgres servers of a stack with one for each service: base backups, archives of the WAL, restores. */
export function backupsOf(stateDir: string) {
  const serverOf = (service: ServiceName) => `postgres-${service}`;
  const homeOf = (service: ServiceName) => postgresDir(join(stateDir, serverOf(service)));
  const at = (service: ServiceName, name: "data" | "base" | "wal") => join(homeOf(service), name);
  const { user } = findPostgres();
  const ownedByPostgres = (path: string) => user && execFileSync("chown", ["-R", `${user.uid}:${user.gid}`, path]);

  async function asSuperuser<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
    const client = new pg.Client({ connectionString: url });
    client.on("error", () => undefined);
    await client.connect();
    try {
      return await work(client);
    } finally {
      await client.end();
    }
  }
  /** The superuser's password is in the server's home: a stack has only the first server's URL. */
  const superuserUrl = (running: RunningStack, service: ServiceName) => {
    const url = new URL(running.stack.databases[service]!);
    const password = execFileSync("cat", [join(homeOf(service), "password")], { encoding: "utf8" }).trim();
    return `postgresql://postgres:${password}@${url.host}/postgres`;
  };

  return {
    /** The settings of a server that archives its WAL. */
    settings(service: ServiceName): string[] {
      mkdirSync(at(service, "wal"), { recursive: true });
      ownedByPostgres(at(service, "wal"));
      const copy = `test ! -f ${at(service, "wal")}/%f && cp %p ${at(service, "wal")}/%f`;
      return ["archive_mode=on", `archive_command=${copy}`, "fsync=off"];
    },

    /** Takes the base backup of each database while it is in use. */
    async backUp(running: RunningStack): Promise<void> {
      for (const service of services) {
        await asSuperuser(superuserUrl(running, service), async (client) => {
          await client.query("SELECT pg_backup_start('base', true)");
          // Files may change or go while they are copied: the WAL repairs that.
          try {
            execFileSync("cp", ["-a", at(service, "data"), at(service, "base")], { stdio: "ignore" });
          } catch (error) {
            if (!existsSync(at(service, "base"))) throw error;
          }
          const { rows } = await client.query<{ labelfile: string }>("SELECT labelfile FROM pg_backup_stop()");
          const base = at(service, "base");
          for (const file of ["postmaster.pid", "postmaster.opts"]) rmSync(join(base, file), { force: true });
          for (const name of readdirSync(join(base, "pg_wal"))) {
            const path = join(base, "pg_wal", name);
            if (statSync(path).isFile()) rmSync(path);
          }
          writeFileSync(join(base, "backup_label"), rows[0]!.labelfile);
        });
      }
    },

    /** Returns a moment of a database that lies after what was done and before what is done next. */
    async moment(running: RunningStack, service: ServiceName): Promise<string> {
      return asSuperuser(superuserUrl(running, service), async (client) => {
        const { rows } = await client.query<{ now: Date }>("SELECT clock_timestamp() AS now");
        await sleep(20);
        return rows[0]!.now.toISOString();
      });
    },

    /** Waits until all that was committed is archived. */
    async archive(running: RunningStack): Promise<void> {
      for (const service of services) {
        await asSuperuser(superuserUrl(running, service), async (client) => {
          const { rows } = await client.query<{ segment: string }>(
            "SELECT pg_walfile_name(pg_switch_wal()) AS segment",
          );
          const { segment } = rows[0]!;
          for (;;) {
            if (existsSync(join(at(service, "wal"), segment))) return;
            await sleep(50);
          }
        });
      }
    },

    /** Loses a database, and restores it from its base backup and the archive to a moment. */
    async restore(running: RunningStack, service: ServiceName, moment: string): Promise<void> {
      const data = at(service, "data");
      await running.kill(serverOf(service));
      rmSync(data, { recursive: true });
      execFileSync("cp", ["-a", at(service, "base"), data]);
      appendFileSync(
        join(data, "postgresql.auto.conf"),
        [
          `restore_command = 'cp ${at(service, "wal")}/%f %p'`,
          // Postgres takes no ISO 8601 here.
          `recovery_target_time = '${moment.replace("T", " ").replace("Z", "+00")}'`,
          "recovery_target_action = promote",
          "",
        ].join("\n"),
      );
      writeFileSync(join(data, "recovery.signal"), "");
      ownedByPostgres(data);
      await running.restart(serverOf(service));
      await asSuperuser(superuserUrl(running, service), async (client) => {
        for (;;) {
          const { rows } = await client.query<{ recovering: boolean }>("SELECT pg_is_in_recovery() AS recovering");
          if (!rows[0]!.recovering) return;
          await sleep(50);
        }
      });
    },

    /** Removes the servers' homes. */
    remove(): void {
      for (const service of services) rmSync(homeOf(service), { recursive: true, force: true });
    },
  };
}
