import { runService } from "@countersign/runtime";
import { startSigner } from "./start-signer.ts";

await runService({ name: "signer", start: (process) => startSigner(process) });
