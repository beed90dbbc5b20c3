import { once } from "node:events";
import { UsageError } from "@countersign/runtime";
import { adminCommand } from "../admin-command.ts";
import { serveConsole } from "../console/serve.ts";

export const consoleCommand = adminCommand({
  usage: "console [--port <n>]",
  about: "Serves read-only pages about accounts, sign-ups, refusals, budgets and balances on this machine.",
  options: ["port"],
  async run({ services, reason, option, show, progress }) {
    const port = Number(option("port") ?? 0);
    if (!Number.isInteger(port) || port < 0 || port > 65_535) throw new UsageError(this.usage, "--port is no port");
    const { url, close } = await serveConsole(services, reason, port);
    show({ url }, () => [url]);
    progress("Each page that you open is recorded with your name and the reason. Ctrl-C ends it.");
    await Promise.race([once(process, "SIGINT"), once(process, "SIGTERM")]);
    await close();
  },
});
