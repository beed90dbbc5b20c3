import { ensureCadenceParser } from "./cadence-parser.ts";
import { reportFailure } from "./fail.ts";

// `node packages/build/src/build-cadence-parser.ts`: the signer's Cadence parser as `npm start` builds it, for the image.
await ensureCadenceParser((line) => console.log(line)).catch(reportFailure);
