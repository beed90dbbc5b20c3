import { reportFailure } from "@countersign/build/fail.ts";
import { copyTools } from "./tools.ts";

// `node packages/local-stack/src/build-tools.ts <directory>`: builds the Go servers as `npm start` does, into
// the directory where an image expects them.
await copyTools(process.argv[2] ?? "bin").catch(reportFailure);
