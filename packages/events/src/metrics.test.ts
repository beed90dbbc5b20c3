import { Registry } from "prom-client";
import { expect, it } from "vitest";
import { consumerMetrics } from "./metrics.ts";

it("the lag of a durable consumer is the sum of all streams", async () => {
  const registry = new Registry();
  const metrics = consumerMetrics({ registry }, "key-person-erased");
  metrics.setLag("CS_EVENTS_0", { num_pending: 7, num_ack_pending: 1 });
  metrics.setLag("CS_EVENTS_1", { num_pending: 4, num_ack_pending: 2 });
  metrics.setLag("CS_EVENTS_0", { num_pending: 3, num_ack_pending: 0 });
  const text = await registry.metrics();
  expect(text).toContain('countersign_consumer_pending_events{durable="key-person-erased"} 7\n');
  expect(text).toContain('countersign_consumer_unacknowledged_events{durable="key-person-erased"} 2\n');
});
