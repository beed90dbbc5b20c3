import { testMatrix } from "./proxy/test-matrix.ts";

// A break of a stream fails every call on it, also those of other clients.
testMatrix(
  {
    "the stream breaks before the request": { fault: { kind: "lose-request", as: "reset" } },
    "the stream breaks before the answer": { fault: { kind: "lose-answer", as: "reset" } },
    "three streams break before the answer": { fault: { kind: "lose-answer", as: "reset" }, times: 3 },
  },
  { name: "streams", what: "calls that go together on streams", coalesce: true },
);
