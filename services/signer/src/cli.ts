import { auditExport } from "./commands/audit-export.ts";
import { auditVerify } from "./commands/audit-verify.ts";
import { auditVerifyProof } from "./commands/audit-verify-proof.ts";
import { UsageError } from "./commands/command.ts";
import { keysCreate } from "./commands/keys-create.ts";
import { keysExportPublic } from "./commands/keys-export-public.ts";
import { keysList } from "./commands/keys-list.ts";
import { keysReEncrypt } from "./commands/keys-re-encrypt.ts";
import { keysRotate } from "./commands/keys-rotate.ts";

const commands = [
  keysCreate,
  keysList,
  keysRotate,
  keysExportPublic,
  keysReEncrypt,
  auditExport,
  auditVerify,
  auditVerifyProof,
];

const [noun, verb, ...args] = process.argv.slice(2);
const command = commands.find(({ usage }) => usage.startsWith(`${noun} ${verb} `) || usage === `${noun} ${verb}`);
try {
  if (!command) throw new UsageError(commands.map(({ usage }) => usage).join("\n       signer "));
  process.exitCode = await command.run({ args, env: process.env, print: (line) => console.log(line) });
} catch (error) {
  const { message } = error as Error;
  console.error(error instanceof UsageError ? `usage: signer ${message}` : message);
  process.exitCode = 2;
}
