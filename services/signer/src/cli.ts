import { runCommand } from "@countersign/runtime";
import { auditVerify } from "./commands/audit-verify.ts";
import { auditVerifyProof } from "./commands/audit-verify-proof.ts";
import { keysCreate } from "./commands/keys-create.ts";
import { keysExportPublic } from "./commands/keys-export-public.ts";
import { keysList } from "./commands/keys-list.ts";
import { keysReEncrypt } from "./commands/keys-re-encrypt.ts";
import { keysRotate } from "./commands/keys-rotate.ts";
import { restore } from "./commands/restore.ts";

await runCommand("signer", [
  keysCreate,
  keysList,
  keysRotate,
  keysExportPublic,
  keysReEncrypt,
  auditVerify,
  auditVerifyProof,
  restore,
]);
