import { accountsHolds } from "./commands/accounts-holds.ts";
import { accountsUnfreeze } from "./commands/accounts-unfreeze.ts";
import { UsageError } from "./commands/command.ts";

const commands = [accountsHolds, accountsUnfreeze];

const [noun, verb, ...args] = process.argv.slice(2);
const command = commands.find(({ usage }) => usage.startsWith(`${noun} ${verb} `));
try {
  if (!command) throw new UsageError(commands.map(({ usage }) => usage).join("\n       auth "));
  process.exitCode = await command.run({ args, env: process.env, print: (line) => console.log(line) });
} catch (error) {
  const { message } = error as Error;
  console.error(error instanceof UsageError ? `usage: auth ${message}` : message);
  process.exitCode = 2;
}
