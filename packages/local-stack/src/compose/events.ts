import { reportFailure } from "@countersign/build/fail.ts";
import { setUpNats } from "@countersign/events/set-up.ts";
import { readTls } from "@countersign/local-stack/certificates.ts";
import { placeOf, required } from "./settings.ts";

/**
 * Creates the event stream and each service's consumers, which no service has the right to: a step of
 * docker-compose.yml.
 */
async function setUp(): Promise<void> {
  const tls = {
    ca: placeOf("events", "ca.pem"),
    cert: placeOf("events", "cert.pem"),
    key: placeOf("events", "key.pem"),
  };
  await setUpNats(required("CS_NATS_URL"), readTls(tls));
  console.log("the stream of events and its consumers are in place");
}

await setUp().catch(reportFailure);
