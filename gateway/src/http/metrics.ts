import type { Metrics } from "@countersign/runtime";
import { Counter, Histogram } from "prom-client";
import type { ObserveRequest } from "./app.ts";
import type { Route } from "./route.ts";

/** Creates the metrics of HTTP requests, by route pattern. */
export function createHttpMetrics({ registry }: Metrics, routes: readonly Route[] = []): ObserveRequest {
  const labelNames = ["method", "route", "status"] as const;
  const seconds = new Histogram({
    name: "countersign_http_request_seconds",
    help: "Seconds of answered HTTP requests",
    labelNames,
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers: [registry],
  });
  const streams = new Counter({
    name: "countersign_http_streams_total",
    help: "Streams of events that ended",
    labelNames,
    registers: [registry],
  });
  // A rate sees the first end only if the series was there before.
  for (const { path: route, events } of routes) {
    if (events !== undefined) streams.inc({ method: "GET", route, status: 200 }, 0);
  }
  const known = new Set(["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"]);
  return ({ method, route, status, seconds: value, isStream }) => {
    // Clients may send any method; the label must have few values.
    const labels = { method: known.has(method) ? method : "OTHER", route, status };
    if (isStream) streams.inc(labels);
    else seconds.observe(labels, value);
  };
}
