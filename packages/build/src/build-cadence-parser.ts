import { ensureCadenceParser } from "./cadence-parser.ts";
import { reportFailure } from "./fail.ts";

// `node packages/build/src/build-cadence-parser.ts`: builds the signer's Cadence parser for the image, like
// `npm start`.
await ensureCadenceParser((line) => console.log(line)).catch(reportFailure);
