import { testMatrix } from "./proxy/test-matrix.ts";

// Streams of calls are broken in streams.test.ts.
testMatrix(
  {
    "request 4 s late": { fault: { kind: "delay-request", ms: 4_000 } },
    "answer 4 s late": { fault: { kind: "delay-answer", ms: 4_000 } },
    "answer lost with its stream": { fault: { kind: "lose-answer", as: "reset" } },
    "answer lost, reported as UNAVAILABLE": { fault: { kind: "lose-answer", as: "unavailable" } },
    "four answers lost": { fault: { kind: "lose-answer", as: "unavailable" }, times: 4 },
    "request lost with its stream": { fault: { kind: "lose-request", as: "reset" } },
    "request lost, reported as UNAVAILABLE": { fault: { kind: "lose-request", as: "unavailable" } },
    "request twice, first answer": { fault: { kind: "duplicate", answer: "first" } },
    "request twice, second answer": { fault: { kind: "duplicate", answer: "second" } },
    "request again after 1.5 s": { fault: { kind: "duplicate", answer: "first", gapMs: 1_500 } },
    "overtaken by the next": { fault: { kind: "reorder", atMostMs: 1_000 } },
  },
  { name: "network", what: "the network loses, doubles and delays", coalesce: false, perHop: 3 },
);
