/** How a caller learns that no answer will come: by a load balancer's error, or by its stream's reset. */
export type LossKind = "unavailable" | "reset";

/** The fault of one call on its way. */
export type RpcFault =
  /** The callee does the work, and the caller never receives the answer. */
  | { kind: "lose-answer"; as: LossKind }
  /** The callee never receives the request. */
  | { kind: "lose-request"; as: LossKind }
  /** Sent twice; the copy `gapMs` after the first, or at once. The caller gets the answer to one of them. */
  | { kind: "duplicate"; answer: "first" | "second"; gapMs?: number }
  | { kind: "delay-request"; ms: number }
  | { kind: "delay-answer"; ms: number }
  /** Sent on only when the next call of the same RPC has been answered, or after `atMostMs`. */
  | { kind: "reorder"; atMostMs: number };

/** One unary call as it arrived. */
export interface ProxiedCall {
  /** "package.Service/Method". */
  rpc: string;
  headers: Readonly<Record<string, unknown>>;
  /** The request message, without gRPC's five bytes of frame. */
  request: Buffer;
}

/** The callee's answer: a message, or the gRPC status of a refusal. */
export interface ProxiedAnswer {
  status: number;
  /** Empty for a refusal. */
  response: Buffer;
}

/** A fault that has struck. */
export interface Strike {
  call: ProxiedCall;
  /**
   * The callee's answers, in the order of the requests; none if the request was lost or its stream broke
   * before they came.
   */
  answers: ProxiedAnswer[];
}

export interface FaultRule {
  rpc: string;
  fault: RpcFault;
  /** How many calls it strikes. Default 1. */
  times?: number;
  /** Selects the calls that it affects. Default all. */
  matches?: (call: ProxiedCall) => boolean;
}

export interface ArmedFault {
  readonly strikes: readonly Strike[];
  /** Calls that it took hold of; their strikes follow when they are over. */
  readonly taken: number;
  /** Ends the fault. */
  disarm(): void;
}
